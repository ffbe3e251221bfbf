// What does a drawing show, as a table? It stands beside every canvas: hidden from sight until it has the focus or is asked for.

import { h, keyed, setText, tell } from "./dom.js";
import { roving } from "./roving.js";
import { number } from "./words.js";

const PAGE = 50;

/**
 * @typedef {object} Content
 * @property {string} caption
 * @property {{name: string, numeric?: boolean}[]} columns the first one names the row
 * @property {number} count
 * @property {(from: number, to: number) => (string | number)[][]} rows
 * @property {string} [chooses] the event to tell when a row is chosen, with the first cell as its detail
 */

class TableView extends HTMLElement {
  #content = null;
  #page = 0;
  #caption = h("caption");
  #head = h("tr");
  #body = h("tbody");
  #settle = roving(this.#body, "button");
  #range = h("span", { class: "range" });
  #earlier = h("button", { type: "button", onclick: () => this.#turn(-1) }, "Previous");
  #later = h("button", { type: "button", onclick: () => this.#turn(1) }, "Next");
  #pages = h("div", { class: "pages" }, this.#earlier, this.#range, this.#later);

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("div", { class: "rows" }, h("table", {}, this.#caption, h("thead", {}, this.#head), this.#body)), this.#pages);
  }

  /** @param {Content} content */
  show(content) {
    this.#content = content;
    const last = Math.max(0, Math.ceil(content.count / PAGE) - 1);
    this.#page = Math.min(this.#page, last);
    setText(this.#caption, content.caption);
    keyed(this.#head, content.columns, (column) => column.name, (column, there) =>
      there ?? h("th", { scope: "col", class: column.numeric ? "numeric" : null }, column.name));
    const from = this.#page * PAGE;
    const rows = content.rows(from, Math.min(content.count, from + PAGE));
    keyed(this.#body, rows, (row) => String(row[0]), (row, there) => this.#row(row, there));
    this.#settle();
    this.#pages.hidden = content.count <= PAGE;
    setText(this.#range, `${number(from + 1)} to ${number(from + rows.length)} of ${number(content.count)}`);
    this.#earlier.disabled = this.#page === 0;
    this.#later.disabled = this.#page === last;
  }

  #turn(step) {
    this.#page += step;
    this.show(this.#content);
  }

  #row(row, there) {
    const { columns, chooses } = this.#content;
    if (there) {
      row.forEach((value, index) => setText(there.children[index].firstElementChild ?? there.children[index], String(value)));
      return there;
    }
    const choose = (value) => h("button", { type: "button", class: "link", onclick: () => tell(this, chooses, value) }, value);
    return h("tr", {}, ...row.map((value, index) => {
      if (index === 0) return h("th", { scope: "row" }, chooses ? choose(value) : value);
      return h("td", { class: columns[index].numeric ? "numeric" : null }, String(value));
    }));
  }
}

customElements.define("rp-table", TableView);
