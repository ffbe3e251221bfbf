// What would this manifest do? Paste YAML; the plan appears here and as an overlay on the map. Nothing is submitted.

import { sentenceOf } from "./client.js";
import { copyButton } from "./clipboard.js";
import { h, tell, wide } from "./dom.js";
import { number, plural, sentenceCase, shownKey, sparedWords } from "./words.js";

const OUTCOMES = {
  Fits: ["✓", "fits", "It fits, and nothing is evicted."],
  Preempts: ["✕", "preempts", "It fits only by preemption."],
  Unschedulable: ["⊘", "unschedulable", "It does not fit."],
  Unknown: ["?", "unschedulable", "Whether it fits is unknown."],
};

class WhatIfPanel extends HTMLElement {
  #client = null;
  #canApply = false;
  #asked = 0;
  #yaml = h("textarea", {
    id: "whatif-yaml", rows: "14", spellcheck: "false", placeholder: "Paste a manifest: pods, Deployments, Jobs, PodGroups…",
    onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#ask(); },
  });
  #askButton = h("button", { type: "button", class: "primary", title: "Ask, and submit nothing (Ctrl Enter)", onclick: () => this.#ask() }, "What would it do? ", h("kbd", {}, "Ctrl ⏎"));
  #applyButton = h("button", { type: "button", hidden: true, title: "Create these objects in the cluster", onclick: () => this.#apply() }, "Apply");
  #exampleButton = h("button", { type: "button", title: "Write a manifest for this cluster, and ask about it", onclick: () => this.#example() }, "Example");
  #result = h("div", { class: "result", "aria-live": "polite" });

  connectedCallback() {
    if (this.firstChild) return;
    this.append(
      h("label", { for: "whatif-yaml" }, "Manifest"),
      this.#yaml,
      h("div", { class: "bar" }, this.#askButton, this.#applyButton,
        this.#exampleButton),
      this.#result,
    );
  }

  prepare(client, can) {
    this.#client = client;
    this.#canApply = Boolean(can.apply);
    this.#applyButton.hidden = !this.#canApply;
    this.#askButton.disabled = !can.whatif;
    this.#exampleButton.hidden = !can.whatif;
    if (!can.whatif) this.#say("This server only reads. `reprieve page --context C` answers what-ifs with your own credentials.");
  }

  focusInput() {
    this.#yaml.focus();
  }

  /** The server writes one that the cluster which is shown does not refuse. */
  async #example() {
    try {
      this.#yaml.value = (await this.#client.example()).yaml;
    } catch (error) {
      return this.#fail(sentenceOf(error));
    }
    this.#ask();
  }

  async #ask() {
    const asked = ++this.#asked;
    this.#askButton.setAttribute("aria-busy", "true");
    try {
      const report = await this.#client.whatif(this.#yaml.value);
      if (asked !== this.#asked) return;
      this.#result.replaceChildren(...(report.items ?? [report]).flatMap(reportParts), ...text(report));
      tell(this, "show-overlay", { ...report.overlay, ...whyNot(report) });
    } catch (error) {
      if (asked === this.#asked) this.#fail(sentenceOf(error));
    } finally {
      this.#askButton.removeAttribute("aria-busy");
    }
  }

  async #apply() {
    try {
      const { created } = await this.#client.apply(this.#yaml.value);
      this.#say(`Created ${created.map((one) => (typeof one === "string" ? one : shownKey(one.key ?? one.name))).join(", ")}.`);
      tell(this, "clear-emphasis");
    } catch (error) {
      this.#fail(sentenceOf(error));
    }
  }

  #say(sentence) {
    this.#result.replaceChildren(h("p", {}, sentence));
  }

  #fail(sentence) {
    this.#result.replaceChildren(h("p", { class: "failure" }, sentence));
    tell(this, "clear-emphasis");
  }
}

function text(report) {
  if (!report.text) return [];
  return [h("details", {}, h("summary", {}, "As the command prints it"), h("pre", {}, report.text)),
    copyButton("Copy JSON", () => JSON.stringify(report, null, 2))];
}

/** What the map needs to show how near each node is; of several demands, of the first that does not fit. */
function whyNot(report) {
  const { miss = null, excluded = [] } = (report.items ?? [report]).find(({ outcome }) => outcome === "Unschedulable") ?? {};
  return { miss, excluded };
}

/** Why nodes were not possible, the most frequent reason first. */
function refusals(excluded, leftOut = 0) {
  const reasons = new Map();
  for (const { name, because } of excluded) reasons.set(because.text, [...(reasons.get(because.text) ?? []), name]);
  const rows = [...reasons].sort(([, a], [, b]) => b.length - a.length).map(([text, names]) => h("tr", {},
    h("th", { scope: "row" }, text), h("td", { class: "numeric" }, number(names.length)), h("td", { class: "names" }, names.slice(0, 4).join(", "), names.length > 4 && ` and ${number(names.length - 4)} more`)));
  return wide(h("table", {}, h("caption", {}, `${plural(excluded.length + leftOut, "node")} that cannot take it`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Why not"), h("th", { scope: "col", class: "numeric" }, "Nodes"), h("th", { scope: "col" }, "Which"))), h("tbody", {}, ...rows)));
}

function reportParts({ outcome, demand, preemption, placements = [], miss, refusal, excluded = [], excludedLeftOut = 0 }) {
  const [sign, kind, sentence] = OUTCOMES[outcome] ?? ["", "", outcome];
  const { victims = [], spared = [], unitsSpared = 0, podsSpared, choice = "" } = preemption ?? {};
  const places = [...new Set(placements.map(({ node }) => node))];
  return [
    h("p", { class: `outcome ${kind}` }, h("span", { class: "sign", "aria-hidden": "true" }, sign),
      h("strong", {}, `${demand.kind} ${demand.namespace ? `${demand.namespace}/` : ""}${demand.name}`), ` · priority ${number(demand.priority ?? 0)} · ${plural(demand.pods, "pod")}. ${sentence}`),
    places.length > 0 && h("p", {}, `Its pods would run on ${places.slice(0, 6).join(", ")}${places.length > 6 ? ` and ${places.length - 6} more nodes` : ""}.`),
    victims.length > 0 && wide(h("table", {}, h("caption", {}, plural(victims.length, "victim")),
      h("tbody", {}, ...victims.slice(0, 100).map((one) => h("tr", {},
        h("th", { scope: "row" }, `✕ ${one.pod.namespace}/${one.pod.name}`), h("td", {}, one.node), h("td", { class: "numeric" }, number(one.priority)),
        h("td", {}, one.because?.text ?? "")))))),
    spared.length > 0 && wide(h("table", {}, h("caption", {}, `${sparedWords(unitsSpared, podsSpared)} spared`),
      h("tbody", {}, ...spared.slice(0, 100).map((one) => h("tr", {}, h("th", { scope: "row" }, `◉ ${one.unit}`), h("td", {}, one.because?.text ?? "")))))),
    victims.length > 0 && choice && h("p", {}, `${sentenceCase(choice)}.`),
    miss?.because && h("p", {}, `Nearest miss: ${miss.because.text}.`),
    typeof refusal?.text === "string" && h("p", {}, `${sentenceCase(refusal.text)}.`),
    outcome === "Unschedulable" && excluded.length > 0 && refusals(excluded, excludedLeftOut),
  ].filter(Boolean);
}

customElements.define("rp-whatif", WhatIfPanel);
