// What did the scheduler decide? Preemptions first, refusals folded, newest first; a row leads to the decision's own view.

import { h, keyed, priorityLabel, setText, tell } from "./dom.js";
import { folded } from "./folding.js";
import { foldRow } from "./fold-row.js";
import { roving } from "./roving.js";
import { minute, moment, number, plural, shownKey, spaced, sparedWords } from "./words.js";

const MOST_ROWS = 150;
const GOOD = new Set(["RoomUsed", "PlacedElsewhere", "NoLongerNeeded"]);

class DecisionList extends HTMLElement {
  #picture = null;
  #chosen = null;
  #shown = MOST_ROWS;
  #open = new Set(); // folds that a reader opened
  #filter = h("select", { "aria-label": "Which decisions", title: "Which decisions are listed", onchange: () => this.#render() },
    h("option", { value: "" }, "all decisions"),
    h("option", { value: "preempting" }, "that preempt"),
    h("option", { value: "refused" }, "that refuse"));
  #count = h("span", { class: "count" });
  #list = h("ol", { class: "decisions" });
  #refusals = h("ol", { class: "decisions refusals" });
  #refusalsHead = h("h3", { class: "kind" });
  #lists = h("div", {}, this.#list, this.#refusalsHead, this.#refusals);
  #settle = roving(this.#lists, "button");
  #more = h("button", { type: "button", class: "more", onclick: () => { this.#shown += MOST_ROWS; this.#render(); } }, "Show more");
  #empty = h("p", { class: "empty", hidden: true }, "No decision yet. When a pod does not fit, the scheduler decides what to preempt, and it appears here.");

  #tryIt = h("p", { class: "empty", hidden: true }, "What-if asks what a manifest would do, and changes nothing; its Example is a start.");

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("div", { class: "bar" }, this.#filter, this.#count), this.#empty, this.#tryIt, this.#lists, this.#more);
  }

  show(picture) {
    this.#picture = picture;
    this.#render();
  }

  choose(id) {
    this.#chosen = id;
    this.#render();
    this.#lists.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  /** The decision before or after the chosen one, in time. */
  beside(step) {
    const ids = this.#wanted().map(({ id }) => id);
    const at = ids.indexOf(this.#chosen);
    return at < 0 ? ids[0] : ids[at - step] ?? null;
  }

  /** Newest first. */
  #wanted() {
    if (this.#picture === null) return [];
    const all = [...this.#picture.decisions.values()].reverse();
    const kind = this.#filter.value;
    return kind ? all.filter(({ outcome }) => (outcome === "refused") === (kind === "refused")) : all;
  }

  #render() {
    const wanted = this.#wanted();
    const refused = wanted.filter(({ outcome }) => outcome === "refused");
    const others = wanted.filter(({ outcome }) => outcome !== "refused");
    const folds = folded(refused, ({ demand, why }) => ({ key: demand.key, reason: why }));
    setText(this.#count, plural(wanted.length, "decision"));
    this.#empty.hidden = wanted.length > 0;
    this.#tryIt.hidden = this.#picture === null || this.#picture.decisions.size > 0 || !this.#picture.can.whatif;
    this.#more.hidden = Math.max(others.length, folds.length) <= this.#shown;
    this.#refusalsHead.hidden = refused.length === 0;
    setText(this.#refusalsHead, `Refused: ${plural(refused.length, "decision")}${folds.length < refused.length ? ` of ${plural(folds.length, "kind")}` : ""}`);
    keyed(this.#list, others.slice(0, this.#shown), ({ id }) => id, (decision, there) => this.#row(decision, there));
    keyed(this.#refusals, folds.slice(0, this.#shown), rowKey, (fold, there) => this.#fold(fold, there));
    this.#settle();
  }

  #fold(fold, there) {
    const { key, items, workload } = fold;
    if (items.length === 1) return this.#row(items[0], there);
    const open = this.#open.has(key) || items.some(({ id }) => id === this.#chosen);
    const [newest] = items;
    return foldRow(there, {
      items, open,
      head: [
        h("span", { class: "first" }, h("time", { title: moment(newest.time, this.#picture.time) }, minute(newest.time)),
          h("strong", {}, shownKey(workload)), h("span", { class: "pods" }, plural(items.length, "decision"))),
        h("span", { class: "third" }, newest.why)],
      toggle: () => { if (!this.#open.delete(key)) this.#open.add(key); this.#render(); },
      keyOf: ({ id }) => id,
      row: (decision, row) => this.#row(decision, row),
    });
  }

  #row(decision, there) {
    const said = JSON.stringify(decision) + (decision.id === this.#chosen);
    if (there?.dataset.said === said) return there;
    const row = there ?? h("li", {}, h("button", { type: "button", onclick: () => tell(this, "choose-decision", decision.id) }));
    row.dataset.said = said;
    row.dataset.id = decision.id;
    const button = row.firstElementChild;
    if (decision.id === this.#chosen) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    button.replaceChildren(...cells(decision, this.#picture.time));
    return row;
  }
}

/** A row alone and a fold are elements of two kinds. */
const rowKey = ({ key, items }) => (items.length === 1 ? items[0].id : key);

function cells({ id, time, demand, outcome, stage, ended, victims, spared, sparedPods, why }, now) {
  const counts = [victims ? plural(victims, "victim") : "", spared ? `${sparedWords(spared, sparedPods)} spared` : ""].filter(Boolean).join(" · ");
  return [
    h("span", { class: "first" },
      h("time", { title: moment(time, now) }, minute(time)),
      h("strong", {}, shownKey(demand.key, demand.uid)),
      demand.pods > 1 && h("span", { class: "pods" }, `×${number(demand.pods)}`),
      priorityLabel(demand.priority)),
    h("span", { class: "second" }, pill(outcome, stage, ended), h("span", {}, counts), h("code", {}, id)),
    why && h("span", { class: "third" }, why),
  ].filter(Boolean);
}

/** How far it is, as a sign and a word. */
export function pill(outcome, stage, ended) {
  if (outcome === "refused") return h("span", { class: "pill refused" }, "⊘ refused");
  if (outcome === "error") return h("span", { class: "pill active" }, "▲ error");
  if (stage === "ended") return h("span", { class: "pill ended" }, `${GOOD.has(ended) ? "✓" : "–"} ${ended ? spaced(ended) : "ended"}`);
  if (outcome === "waiting" || outcome === "improving") return h("span", { class: "pill nominated" }, `◌ ${outcome}`);
  return h("span", { class: "pill active" }, `● ${stage ?? outcome}`);
}

customElements.define("rp-decision-list", DecisionList);
