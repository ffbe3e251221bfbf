// Why was this pod preempted, or why does it still wait? The answer of `reprieve why`.

import { sentenceOf } from "./client.js";
import { copyButton, quoted } from "./clipboard.js";
import { h, tell } from "./dom.js";

const KINDS = { pod: "Pod", group: "PodGroup", tree: "CompositePodGroup", decision: "Decision" };
const SOURCES = { WhatIf: "what-if now", Object: "cluster now", Event: "event", Condition: "condition", Decision: "decision" };
const DECISION = /\bd-[0-9a-f]+\b/;

class WhyPanel extends HTMLElement {
  #client = null;
  #asked = 0;
  #kind = h("select", { "aria-label": "Kind" }, ...Object.entries(KINDS).map(([value, name]) => h("option", { value }, name)));
  #key = h("input", { id: "why-key", type: "text", placeholder: "namespace/name", autocomplete: "off", spellcheck: "false",
    onkeydown: (event) => { if (event.key === "Enter") this.ask(this.#kind.value, this.#key.value); } });
  #result = h("div", { class: "result", "aria-live": "polite" }, h("p", { class: "empty" }, "Choose a pod on the map or in a list, or write its name here: it may be gone already."));

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("div", { class: "bar" }, this.#kind, h("label", { for: "why-key", class: "sr-only" }, "Name"), this.#key,
      h("button", { type: "button", class: "primary", onclick: () => this.ask(this.#kind.value, this.#key.value) }, "Why?")), this.#result);
  }

  prepare(client) {
    this.#client = client;
  }

  focusInput() {
    this.#key.focus();
  }

  /** Names what the next question is about. */
  propose(kind, key) {
    this.#kind.value = kind;
    this.#key.value = key;
  }

  async ask(kind, key) {
    if (key.trim() === "") return this.focusInput();
    this.propose(kind, key);
    const asked = ++this.#asked;
    try {
      const answer = await this.#client.why(kind, key.trim());
      if (asked === this.#asked) this.#result.replaceChildren(...this.#parts(kind, key, answer));
    } catch (error) {
      if (asked === this.#asked) this.#result.replaceChildren(h("p", { class: "failure" }, sentenceOf(error)));
    }
  }

  #parts(kind, key, answer) {
    const [first, ...rest] = (answer.text ?? answer.headline ?? "").trim().split("\n");
    const [namespace, name] = key.trim().split("/");
    const command = kind === "decision" ? `reprieve why ${quoted(key.trim())}` : `reprieve why ${quoted(`${KINDS[kind].toLowerCase()}/${name}`)} -n ${quoted(namespace)}`;
    return [
      h("p", { class: "lead" }, ...linked(first, this)),
      ...(answer.statements ? this.#reasons(answer) : [h("pre", {}, ...linked(rest.join("\n").replace(/^\n/, ""), this))]),
      h("div", { class: "bar" }, copyButton("Copy as CLI", () => command), copyButton("Copy JSON", () => JSON.stringify(answer, null, 2))),
    ];
  }

  #reasons({ statements, remedies = [], notes = [] }) {
    return [
      h("dl", { class: "statements" }, ...statements.map(({ topic, text, source }) => h("div", {},
        h("dt", {}, topic), h("dd", {}, ...linked(text, this), h("span", { class: "source" }, SOURCES[source] ?? source))))),
      remedies.length > 0 && h("h3", {}, "What would help, least effort first"),
      remedies.length > 0 && h("ol", {}, ...remedies.map(({ text, how }) => h("li", {}, ...linked(text, this), how && h("span", { class: "how" }, how)))),
      ...notes.map((note) => h("p", { class: "source" }, note)),
    ].filter(Boolean);
  }
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
