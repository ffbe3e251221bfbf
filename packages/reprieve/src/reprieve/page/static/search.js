// Where is it? A dialog with one field: names in, nodes, groups, pods and decisions out.

import { h, setText, tell } from "./dom.js";
import { find } from "./finding.js";

const SIGNS = { node: "▤", group: "▦", pod: "■", decision: "⚖" };

class Search extends HTMLElement {
  #picture = null;
  #found = [];
  #at = 0;
  #input = h("input", {
    type: "text", role: "combobox", "aria-label": "Search", "aria-expanded": "true", "aria-controls": "search-results", "aria-autocomplete": "list",
    placeholder: "Node, pod, group or decision", autocomplete: "off", spellcheck: "false",
    oninput: () => this.#look(), onkeydown: (event) => this.#key(event),
  });
  #list = h("ul", { id: "search-results", role: "listbox", "aria-label": "Results" });
  #note = h("p", { class: "note", role: "status" });
  #dialog = h("dialog", { class: "search", "aria-label": "Search" }, this.#input, this.#list, this.#note);

  connectedCallback() {
    if (!this.firstChild) this.append(this.#dialog);
  }

  open(picture) {
    this.#picture = picture;
    this.#input.value = "";
    this.#look();
    this.#dialog.showModal();
  }

  #look() {
    const { found, more } = find(this.#picture, this.#input.value);
    this.#found = found;
    this.#at = 0;
    this.#list.replaceChildren(...found.map((one, index) => h("li", { role: "option", id: `result-${index}`, onclick: () => this.#choose(one) },
      h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[one.kind]), h("span", { class: "name" }, one.kind === "decision" ? one.id : one.key), h("span", { class: "words" }, one.words))));
    setText(this.#note, more ? "There are more: write more of the name." : this.#input.value && !found.length ? "Nothing has this name." : "");
    this.#mark();
  }

  #mark() {
    [...this.#list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === this.#at)));
    this.#input.setAttribute("aria-activedescendant", this.#found.length ? `result-${this.#at}` : "");
    this.#list.children[this.#at]?.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && this.#found.length) {
      this.#at = (this.#at + step + this.#found.length) % this.#found.length;
      this.#mark();
      event.preventDefault();
    } else if (event.key === "Enter" && this.#found[this.#at]) {
      event.preventDefault();
      this.#choose(this.#found[this.#at]);
    }
  }

  #choose({ kind, id }) {
    this.#dialog.close();
    tell(this, `choose-${kind}`, id);
  }
}

customElements.define("rp-search", Search);
