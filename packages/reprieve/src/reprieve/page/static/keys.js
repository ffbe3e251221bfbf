// Which key does what? One table for the listener and for the help.

import { h } from "./dom.js";

/** @typedef {{keys: string[], words: string, act: (key: string) => void}} Binding */

class Keys extends HTMLElement {
  #bindings = [];
  #dialog = h("dialog", { class: "keys", "aria-label": "Keys" });

  connectedCallback() {
    if (!this.firstChild) this.append(this.#dialog);
  }

  /** @param {Binding[]} bindings */
  bind(bindings) {
    this.#bindings = bindings;
    this.#dialog.replaceChildren(
      h("h2", {}, "Keys"),
      h("dl", {}, ...bindings.map(({ keys, words }) => h("div", {}, h("dt", {}, ...keys.map((key) => h("kbd", {}, key === "Escape" ? "Esc" : key))), h("dd", {}, words))),
        h("div", {}, h("dt", {}, h("kbd", {}, "←↑↓→")), h("dd", {}, "move on the map and in lists; Enter opens"))),
      h("form", { method: "dialog" }, h("button", { class: "primary" }, "Close")));
    document.addEventListener("keydown", (event) => this.#hear(event));
  }

  open() {
    this.#dialog.showModal();
  }

  #hear(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const writes = event.target.closest?.("input:not([type=range]), textarea, select");
    if (writes && event.key !== "Escape") return;
    const found = this.#bindings.find(({ keys }) => keys.includes(event.key));
    if (found === undefined) return;
    event.preventDefault();
    if (writes) writes.blur();
    found.act(event.key);
  }
}

customElements.define("rp-keys", Keys);
