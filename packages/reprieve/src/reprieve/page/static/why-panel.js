// Why was this pod preempted, or why does it still wait? The answer of `reprieve why`.

import { sentenceOf } from "./client.js";
import { copyButton, quoted } from "./clipboard.js";
import { h, tell } from "./dom.js";
import { kindAndName } from "./picture.js";

const KINDS = { pod: "Pod", group: "PodGroup", tree: "CompositePodGroup", decision: "Decision" };
const SOURCES = { WhatIf: "what-if now", Object: "cluster now", Event: "event", Condition: "condition", Decision: "decision" };
const HEADINGS = {
  Preempted: "What would have protected it",
  Pending: "What would let it run, least effort first",
  ResizeDeferred: "What would let it grow, least effort first",
};
const MOST_NAMES = 50;
const DECISION = /\bd-[0-9a-f]+\b/;

class WhyPanel extends HTMLElement {
  #client = null;
  #shown = () => null;
  #asked = 0;
  #kind = h("select", { "aria-label": "Kind", title: "What the question is about", onchange: () => this.#complete() }, ...Object.entries(KINDS).map(([value, name]) => h("option", { value }, name)));
  #key = h("input", { id: "why-key", type: "text", placeholder: "namespace/name", autocomplete: "off", spellcheck: "false", list: "why-names",
    oninput: () => this.#complete(), onfocus: () => this.#complete(),
    onkeydown: (event) => { if (event.key === "Enter") this.ask(this.#kind.value, this.#key.value); } });
  #names = h("datalist", { id: "why-names" });
  #result = h("div", { class: "result", "aria-live": "polite" }, h("p", { class: "empty" }, "Choose a pod on the map or in a list, or write its name here: it may be gone already."));

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("div", { class: "bar" }, this.#kind, h("label", { for: "why-key", class: "sr-only" }, "Name"), this.#key, this.#names,
      h("button", { type: "button", class: "primary", title: "Ask (Enter)", onclick: () => this.ask(this.#kind.value, this.#key.value) }, "Why?")), this.#result);
  }

  /** @param {() => import("./picture.js").Picture} shown whose names are completed */
  prepare(client, shown) {
    this.#client = client;
    this.#shown = shown;
  }

  focusInput() {
    this.#key.focus();
  }

  /** Names what the next question is about. */
  propose(kind, key) {
    this.#kind.value = kind;
    this.#key.value = key;
  }

  #complete() {
    const found = namesOf(this.#shown(), this.#kind.value, this.#key.value.trim()).slice(0, MOST_NAMES);
    this.#names.replaceChildren(...found.map((value) => h("option", { value })));
  }

  async ask(kind, written) {
    if (written.trim() === "") return this.focusInput();
    const key = completed(this.#shown(), kind, written.trim());
    this.propose(kind, key);
    const asked = ++this.#asked;
    try {
      const answer = await this.#client.why(kind, key);
      if (asked === this.#asked) this.#result.replaceChildren(...this.#parts(kind, key, answer));
    } catch (error) {
      if (asked === this.#asked) this.#result.replaceChildren(h("p", { class: "failure" }, sentenceOf(error)));
    }
  }

  #parts(kind, key, answer) {
    const [first, ...rest] = (answer.text ?? answer.headline ?? "").trim().split("\n");
    const [namespace, name] = key.split("/");
    const command = kind === "decision" ? `reprieve why ${quoted(key)}` : `reprieve why ${quoted(`${KINDS[kind].toLowerCase()}/${name}`)} -n ${quoted(namespace)}`;
    return [
      h("p", { class: "lead" }, ...linked(first, this)),
      ...(answer.statements ? this.#reasons(answer) : [h("pre", {}, ...linked(rest.join("\n").replace(/^\n/, ""), this))]),
      h("div", { class: "bar" }, copyButton("Copy as CLI", () => command), copyButton("Copy JSON", () => JSON.stringify(answer, null, 2))),
    ];
  }

  #reasons({ state, statements, remedies = [], notes = [] }) {
    return [
      h("dl", { class: "statements" }, ...statements.map(({ topic, text, source }) => h("div", {},
        h("dt", {}, topic), h("dd", {}, ...linked(text, this), h("span", { class: "source" }, SOURCES[source] ?? source))))),
      remedies.length > 0 && h("h3", {}, HEADINGS[state] ?? "What can be done"),
      remedies.length > 0 && h("ol", {}, ...remedies.map(({ text, how }) => h("li", {}, ...linked(text, this), how && h("span", { class: "how" }, how)))),
      ...notes.map((note) => h("p", { class: "source" }, note)),
    ].filter(Boolean);
  }
}

/** Names of this kind in the cluster that is shown, those that begin with the text first. */
function namesOf(picture, kind, text) {
  if (picture === null) return [];
  const all = kind === "pod" ? [...picture.pods.values()].map(({ key }) => key)
    : kind === "decision" ? [...picture.decisions.keys()].reverse()
      : [...picture.groups.keys()].map(kindAndName).filter(({ isTree }) => isTree === (kind === "tree")).map(({ name }) => name);
  const found = all.filter((key) => key.includes(text));
  return [...found.filter((key) => key.startsWith(text)), ...found.filter((key) => !key.startsWith(text))];
}

/** A name without its namespace stands for the only one that there is, or for the one in "default". */
function completed(picture, kind, text) {
  if (kind === "decision" || text.includes("/")) return text;
  const found = namesOf(picture, kind, `/${text}`).filter((key) => key.endsWith(`/${text}`));
  return found.length === 1 ? found[0] : `default/${text}`;
}

/** Ids of decisions lead to them. */
function linked(text, panel) {
  const found = DECISION.exec(text);
  if (found === null) return [text];
  const [id] = found;
  return [text.slice(0, found.index),
    h("button", { type: "button", class: "link", onclick: () => tell(panel, "choose-decision", id) }, id),
    ...linked(text.slice(found.index + id.length), panel)];
}

customElements.define("rp-why", WhyPanel);
