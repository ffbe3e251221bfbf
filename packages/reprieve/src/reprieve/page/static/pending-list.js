// Which pods and groups wait, and why?

import { h, keyed, priorityLabel, setText, tell } from "./dom.js";
import { folded } from "./folding.js";
import { foldRow } from "./fold-row.js";
import { waiting } from "./pending.js";
import { kindAndName } from "./picture.js";
import { roving } from "./roving.js";
import { number, plural, shownKey } from "./words.js";

const MOST_ROWS = 100;
const MOST_PARTS = 4;

class PendingList extends HTMLElement {
  #picture = null;
  #open = new Set(); // folds that a reader opened
  #count = h("span", { class: "count" });
  #list = h("ol", { class: "pending" });
  #settle = roving(this.#list, "button");
  #rest = h("p", { class: "note" });
  #empty = h("p", { class: "empty", hidden: true }, "Nothing waits: every pod has a node.");

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("div", { class: "bar" }, this.#count), this.#empty, this.#list, this.#rest);
  }

  show(picture) {
    this.#picture = picture;
    const found = waiting(picture);
    const folds = folded(found, ({ key, group, priority, reason, nominated }) => ({ key, reason, kind: [group, priority, nominated] }));
    const groups = found.filter(({ group }) => group).length;
    setText(this.#count, `${plural(picture.pending.size, "pod")} pending${groups ? `, in ${plural(groups, "group")} and ${number(found.length - groups)} alone` : ""}`);
    this.#empty.hidden = found.length > 0;
    keyed(this.#list, folds.slice(0, MOST_ROWS), ({ key, items }) => (items.length === 1 ? keyOf(items[0]) : key), (fold, there) => this.#fold(fold, there));
    this.#settle();
    setText(this.#rest, folds.length > MOST_ROWS ? `and ${number(folds.length - MOST_ROWS)} more of lower priority` : "");
  }

  #fold({ key, items, workload }, there) {
    if (items.length === 1) return this.#row(items[0], there);
    const [{ group, priority, reason, pods }] = items;
    return foldRow(there, {
      items, open: this.#open.has(key),
      head: [
        h("span", { class: "first" },
          h("span", { class: "sign", "aria-hidden": "true" }, "○"),
          h("strong", {}, group ? kindAndName(workload).name : shownKey(workload, pods[0].uid)),
          h("span", { class: "pods" }, group ? plural(items.length, "group") : plural(items.length, "pod")),
          priorityLabel(priority)),
        h("span", { class: "third" }, reason ?? "not yet decided")],
      toggle: () => { if (!this.#open.delete(key)) this.#open.add(key); this.show(this.#picture); },
      keyOf,
      row: (one, row) => this.#row(one, row),
    });
  }

  #row(one, there) {
    const said = JSON.stringify([one.priority, one.pods.length, one.reason, one.nominated, one.parts]);
    if (there?.dataset.said === said) return there;
    const row = there ?? h("li", {}, h("button", { type: "button" }));
    row.dataset.said = said;
    const button = row.firstElementChild;
    button.onclick = () => (one.group ? tell(this, "choose-group", one.key) : tell(this, "choose-pod", one.pods[0].uid));
    button.replaceChildren(...[
      h("span", { class: "first" },
        h("span", { class: "sign", "aria-hidden": "true" }, one.nominated.length ? "◌" : "○"),
        h("strong", {}, one.group ? kindAndName(one.key).name : shownKey(one.key, one.pods[0].uid)),
        one.pods.length > 1 && h("span", { class: "pods" }, `×${number(one.pods.length)}`),
        priorityLabel(one.priority)),
      one.parts.length > 0 && h("span", { class: "second" }, h("span", { class: "pill tree" }, partsOf(one))),
      one.nominated.length > 0 && h("span", { class: "second" }, h("span", { class: "pill nominated" },
        `◌ nominated to ${one.nominated.length === 1 ? one.nominated[0] : plural(one.nominated.length, "node")}`)),
      h("span", { class: "third" }, one.reason ?? "not yet decided"),
    ].filter(Boolean));
    return row;
  }
}

const keyOf = ({ key, group, pods }) => (group ? key : pods[0].uid);

/** The groups of a tree that wait, without their namespace: it is that of the tree. */
function partsOf({ parts }) {
  const shown = parts.slice(0, MOST_PARTS).map(([key, pods]) => `${key.slice(key.indexOf("/") + 1)} ×${number(pods)}`);
  const more = parts.length - shown.length;
  return `tree of ${plural(parts.length, "group")}: ${shown.join(", ")}${more ? ` and ${number(more)} more` : ""}`;
}

customElements.define("rp-pending-list", PendingList);
