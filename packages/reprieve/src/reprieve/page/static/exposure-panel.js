// Which running pods can be preempted, from which priority on, from when, and what protects them?

import { sentenceOf } from "./client.js";
import { h, tell, wide } from "./dom.js";
import { byName, clock, number, plural } from "./words.js";

const MOST_ROWS = 300;

class ExposurePanel extends HTMLElement {
  #client = null;
  #namespace = h("select", { id: "exposure-namespace", title: "Whose pods are listed", onchange: () => this.load() });
  #result = h("div", { class: "result", "aria-live": "polite" });

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("div", { class: "bar" }, h("label", { for: "exposure-namespace" }, "Namespace"), this.#namespace,
      h("button", { type: "button", title: "Ask again", onclick: () => this.load() }, "Refresh")), this.#result);
  }

  prepare(client, picture) {
    this.#client = client;
    const names = new Set([...picture.pods.values()].map(({ key }) => key.split("/")[0]).filter(Boolean));
    const chosen = this.#namespace.value;
    this.#namespace.replaceChildren(h("option", { value: "" }, "all namespaces"), ...[...names].sort(byName).map((name) => h("option", { value: name }, name)));
    this.#namespace.value = names.has(chosen) ? chosen : "";
  }

  async load() {
    try {
      const report = await this.#client.exposure(this.#namespace.value);
      this.#result.replaceChildren(...parts(report, this));
    } catch (error) {
      this.#result.replaceChildren(h("p", { class: "failure" }, sentenceOf(error)));
    }
  }
}

function parts(report, panel) {
  const pods = report.pods ?? [];
  const columns = ["Pod", "Priority", "From", "When", "Protected by"];
  return [
    pods.length
      ? wide(h("table", {}, h("caption", {}, `${plural(pods.length, "running pod")}, and from which priority on each can be preempted`),
        h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col", class: name === "Priority" || name === "From" ? "numeric" : null }, name)))),
        h("tbody", {}, ...pods.slice(0, MOST_ROWS).map((pod) => row(pod, report.at, panel)))))
      : h("p", { class: "empty" }, "No running pod can be preempted here."),
    pods.length > MOST_ROWS && h("p", { class: "note" }, `and ${number(pods.length - MOST_ROWS)} more: choose a namespace`),
    report.text && h("details", {}, h("summary", {}, "As the command prints it"), h("pre", {}, report.text)),
  ].filter(Boolean);
}

function row(pod, at, panel) {
  const { namespace, name, uid, priority, preemptableFrom = [], protections = [], budgets = [], unit, unitPods, podsStopped, openFrom } = pod;
  const first = preemptableFrom[0];
  const shields = [...protections.map(protection), ...budgets.map(budget)];
  const when = openFrom ?? first?.at;
  return h("tr", {},
    h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => tell(panel, "choose-pod", uid) }, `${namespace}/${name}`),
      unitPods > 1 && h("span", { class: "beside" }, `with ${unit} (${plural(unitPods, "pod")})`),
      podsStopped > unitPods && h("span", { class: "beside" }, `stops ${plural(podsStopped, "pod")}`)),
    h("td", { class: "numeric" }, number(priority)),
    h("td", { class: "numeric" }, first ? number(first.priority) : "never"),
    h("td", {}, when && when !== at ? clock(Date.parse(when) / 1000) : first ? "now" : ""),
    h("td", {}, shields.length ? `◈ ${shields.join("; ")}` : "nothing"));
}

function protection({ minimumPriority, until, reason = "" }) {
  const whom = minimumPriority === null ? "all priorities" : `priorities below ${number(minimumPriority)}`;
  return `${reason} (${whom}, ${until ? `until ${clock(Date.parse(until) / 1000)}` : "while it runs"})`;
}

function budget({ name, disruptionsAllowed }) {
  return `budget ${name} (${number(disruptionsAllowed)} allowed)`;
}

customElements.define("rp-exposure", ExposurePanel);
