// Which pods and groups wait, and why?

import { h, keyed, setText, tell } from "./dom.js";
import { waiting } from "./pending.js";
import { kindAndName } from "./picture.js";
import { roving } from "./roving.js";
import { number, plural, shownKey } from "./words.js";

const MOST_ROWS = 100;
const MOST_PARTS = 4;

class PendingList extends HTMLElement {
  #count = h("span", { class: "count" });
  #list = h("ol", { class: "pending" });
  #settle = roving(this.#list, "button");
  #rest = h("p", { class: "note" });
  #empty = h("p", { class: "empty" }, "Nothing waits: every pod has a node.");

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("div", { class: "bar" }, this.#count), this.#empty, this.#list, this.#rest);
  }

  show(picture) {
    const found = waiting(picture);
    const groups = found.filter(({ group }) => group).length;
    setText(this.#count, `${plural(picture.pending.size, "pod")} pending${groups ? `, in ${plural(groups, "group")} and ${number(found.length - groups)} alone` : ""}`);
    this.#empty.hidden = found.length > 0;
    keyed(this.#list, found.slice(0, MOST_ROWS), ({ key, group, pods }) => (group ? key : pods[0].uid), (one, there) => this.#row(one, there));
    this.#settle();
    setText(this.#rest, found.length > MOST_ROWS ? `and ${number(found.length - MOST_ROWS)} more of lower priority` : "");
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
        h("span", { class: "priority" }, number(one.priority))),
      one.parts.length > 0 && h("span", { class: "second" }, h("span", { class: "pill tree" }, partsOf(one))),
      one.nominated.length > 0 && h("span", { class: "second" }, h("span", { class: "pill nominated" },
        `◌ nominated to ${one.nominated.length === 1 ? one.nominated[0] : plural(one.nominated.length, "node")}`)),
      h("span", { class: "third" }, one.reason ?? "not yet decided"),
    ].filter(Boolean));
    return row;
  }
}

/** The groups of a tree that wait, without their namespace: it is that of the tree. */
function partsOf({ parts }) {
  const shown = parts.slice(0, MOST_PARTS).map(([key, pods]) => `${key.slice(key.indexOf("/") + 1)} ×${number(pods)}`);
  const more = parts.length - shown.length;
  return `tree of ${plural(parts.length, "group")}: ${shown.join(", ")}${more ? ` and ${number(more)} more` : ""}`;
}

customElements.define("rp-pending-list", PendingList);
