// What did one decision do, and why so? Its stages, victims, spared units, the plans that lost, the nodes that were refused.

import { copyButton, quoted } from "./clipboard.js";
import { pill } from "./decision-list.js";
import { h, tell, wide } from "./dom.js";
import { tabs } from "./tabs.js";
import { clock, costWords, moment, number, plural, priorityWords, shownKey, spaced, span, sparedWords, STATES } from "./words.js";

const STAGES = ["nominated", "marking", "evicting", "draining", "ready"];
const MOST_ROWS = 200;
const MOST_NAMES = 8;
const NUMERIC = new Set(["Priority", "Pods", "Count"]);

class DecisionView extends HTMLElement {
  #isRefusal = false;
  #tab = "victims-of";

  /**
   * @param {object} decision the document
   * @param {import("./picture.js").Picture} picture what is known of the victims at the time that the map shows
   * @param {{sentence: string, label?: string, at?: number | null} | null} place which time that is, and where else to go
   */
  show(decision, picture, now, place) {
    this.hidden = false;
    const isRefusal = decision.summary.outcome === "refused";
    if (isRefusal !== this.#isRefusal) this.#tab = isRefusal ? "refused-nodes" : "victims-of"; // what explains it
    this.#isRefusal = isRefusal;
    const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the decision" });
    const panels = parts(decision, picture, this);
    for (const { id, title, count } of panels) {
      list.append(h("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": id }, title, count !== null && h("b", {}, ` ${number(count)}`)));
    }
    const focused = this.contains(document.activeElement) ? document.activeElement.id : "";
    const top = this.querySelector(".panels")?.scrollTop ?? 0;
    this.replaceChildren(
      head(this, decision, now),
      placeInTime(this, place),
      track(decision),
      quality(decision),
      list,
      h("div", { class: "panels" }, ...panels.map(({ id, content }) =>
        h("div", { id, role: "tabpanel", tabindex: "0", "aria-labelledby": `tab-${id}` }, ...content))),
    );
    const choose = tabs(list, (id) => { this.#tab = id; });
    choose(panels.some(({ id }) => id === this.#tab) ? this.#tab : panels[0].id);
    this.querySelector(".panels").scrollTop = top;
    if (focused) document.getElementById(focused)?.focus();
  }

  fail(id, sentence) {
    this.hidden = false;
    this.replaceChildren(h("div", { class: "head" }, h("h2", {}, id), closing(this)), h("p", { class: "failure", role: "alert" }, sentence));
  }
}

function closing(view) {
  return h("button", { type: "button", class: "close", "aria-label": "Close the decision", title: "Close the decision (Esc)", onclick: () => tell(view, "close-decision") }, "✕");
}

function head(view, decision, now) {
  const { id, cli, summary: { demand, outcome, stage, ended, time } } = decision;
  return h("div", { class: "head" },
    h("h2", { tabindex: "-1" }, `Decision ${id}`),
    pill(outcome, stage, ended),
    h("p", {}, h("strong", {}, `${demand.kind} ${shownKey(demand.key, demand.uid)}`), ` · priority ${number(demand.priority)} · ${plural(demand.pods, "pod")} · `,
      h("time", {}, moment(time, now))),
    h("div", { class: "copies" },
      copyButton("Copy as CLI", () => cli ?? `reprieve why ${quoted(id)}`),
      copyButton("Copy JSON", () => JSON.stringify(decision, null, 2)),
      closing(view)));
}

function placeInTime(view, place) {
  if (place === null) return "";
  const { sentence, label, at } = place;
  return h("p", { class: "place" }, `${sentence} `, label && h("button", { type: "button", class: "link", onclick: () => tell(view, "go-to-decision", at) }, label));
}

/** The handover's stages as they happened. */
function track({ stages = [], summary: { stage, outcome } }) {
  if (outcome === "refused" || !stages.length) return "";
  const reached = new Map(stages.map((one) => [one.stage, one.time]));
  const start = stages[0].time;
  return h("ol", { class: "track", "aria-label": "Stages of the handover" }, ...STAGES.map((name) => {
    const time = reached.get(name);
    const kind = name === stage ? "now" : time === undefined ? "to-come" : "done";
    const sign = { now: "●", done: "✓", "to-come": "○" }[kind];
    return h("li", { class: kind, "aria-current": kind === "now" ? "step" : null },
      h("span", { class: "sign", "aria-hidden": "true" }, sign), name,
      time !== undefined && h("time", { title: clock(time) }, time === start ? clock(time) : `+${shortSpan(time - start)}`));
  }));
}

/** The first stages take less than a second. */
const shortSpan = (seconds) => (seconds < 10 ? `${seconds.toFixed(1)} s` : span(seconds));

function quality({ miss = null, summary: { why, cost, bound, proved, ended } }) {
  const [words, least] = [costWords(cost), costWords(bound)];
  const lines = [
    why && h("div", {}, h("dt", {}, "Why"), h("dd", {}, why)),
    miss?.because && h("div", {}, h("dt", {}, "Nearest"), h("dd", {}, miss.because.text)),
    words && h("div", {}, h("dt", {}, "Cost"), h("dd", {}, words)),
    proved === false && least && h("div", {}, h("dt", {}, "Bound"), h("dd", {}, `No plan can do better than: ${least}.`)),
    ended && h("div", {}, h("dt", {}, "Ended"), h("dd", {}, spaced(ended))),
  ].filter(Boolean);
  return lines.length ? h("dl", { class: "quality" }, ...lines) : "";
}

const NO_PREEMPTION = { victims: [], pods: 0, spared: [], unitsSpared: 0, podsSpared: 0, losers: [], plans: 1 };

function parts(decision, picture, view) {
  const { preemption, findings = [] } = decision;
  const room = preemption ?? NO_PREEMPTION;
  const found = [
    { id: "victims-of", title: "Victims", count: room.pods, content: victimTable(room, picture, view) },
    { id: "spared-by", title: "Spared units", count: room.unitsSpared, content: sparedTable(room, view) },
    { id: "other-plans", title: "Other plans", count: room.plans - 1, content: planTable(room) },
    { id: "refused-nodes", title: "Nodes refused", count: findings.reduce((sum, { nodes }) => sum + nodes, 0), content: refusedTable(findings) },
  ];
  if (decision.text) found.push({ id: "as-text", title: "Text", count: null, content: [h("pre", {}, decision.text)] });
  return found;
}

/** @param {number} total how many there are, of which a decision names the first */
function table(columns, rows, none, total = rows.length) {
  if (!rows.length) return [h("p", { class: "empty" }, none)];
  return [wide(h("table", {}, h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col", class: NUMERIC.has(name) ? "numeric" : null }, name)))), h("tbody", {}, ...rows.slice(0, MOST_ROWS)))),
    rows.length > MOST_ROWS && h("p", { class: "note" }, `and ${number(rows.length - MOST_ROWS)} more: Copy JSON has them`),
    total > rows.length && h("p", { class: "note" }, `and ${number(total - rows.length)} more that were not recorded`)].filter(Boolean);
}

function victimTable({ victims, pods }, picture, view) {
  const rows = victims.map(({ pod, node, priority, ownPriority, unit, because, budgets = [] }) => {
    const { uid } = pod;
    const now = picture.pods.get(uid)?.state;
    const { name, sign } = now === undefined ? { name: "gone", sign: "✓" } : STATES[now];
    return h("tr", {},
      h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => tell(view, "choose-pod", uid) }, shownKey(keyOf(pod), uid))),
      h("td", {}, h("span", { class: `state state-${name}` }, `${sign} ${name}`)),
      h("td", {}, node ? h("button", { type: "button", class: "link", onclick: () => tell(view, "choose-node", node) }, node) : ""),
      h("td", { class: "numeric" }, priorityWords(priority, ownPriority)),
      h("td", {}, unit.startsWith("Pod/") ? "alone" : shownKey(unit.slice(unit.indexOf("/") + 1))),
      h("td", {}, [because.text, ...budgets.map((name) => `exceeds ${name}`)].filter(Boolean).join("; ")));
  });
  return table(["Victim", "State", "Node", "Priority", "Evicted with", "Why"], rows, "No pod is evicted.", pods);
}

const keyOf = ({ namespace, name }) => (name ? `${namespace}/${name}` : "");

function sparedTable({ spared, unitsSpared, podsSpared }, view) {
  const rows = spared.map(({ unit, pods, priority, ownPriority, because }) => h("tr", {},
    h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => tell(view, "choose-unit", unit) }, unit)),
    h("td", { class: "numeric" }, number(pods ?? 1)),
    h("td", { class: "numeric" }, priorityWords(priority, ownPriority)),
    h("td", {}, `◉ ${because.text}`)));
  const found = table(["Spared", "Pods", "Priority", "Why"], rows, "No unit was reprieved in this decision.", unitsSpared);
  return rows.length ? [h("p", { class: "note" }, `${sparedWords(unitsSpared, podsSpared)} could have been evicted and are not.`), ...found] : found;
}

function planTable({ losers, plans, exhaustive }) {
  const rows = losers.map((one) => h("tr", {},
    h("th", { scope: "row" }, one.domain),
    h("td", { class: "numeric" }, number(one.pods)),
    h("td", { class: "names" }, ...unfolding(one.units, Math.max(one.unitCount, one.units.length))),
    h("td", {}, `${one.lostBy.text}: ${lossWords(one)}`)));
  const none = exhaustive ? "No other placement is possible." : "No other placement was compared.";
  return table(["Plan for", "Pods", "Would evict", "Lost by"], rows, none, plans - 1);
}

function lossWords({ pods, highest, broken }) {
  const priority = highest === null ? "no victim" : `highest priority ${number(highest)}`;
  return `${plural(pods, "pod")}, ${priority}, budgets exceeded by ${number(broken)}`;
}

function refusedTable(findings) {
  const rows = findings.map(({ reason, nodes, examples = [] }) => h("tr", {},
    h("th", { scope: "row" }, reason.text), h("td", { class: "numeric" }, number(nodes)), h("td", {}, examples.length ? some(examples, nodes) : "")));
  return table(["Why", "Count", "For example"], rows, "No node was refused.");
}

/** The first names, and those after them for readers that want them; of some, only the number is known. */
function unfolding(names, count) {
  if (count <= MOST_NAMES) return [names.join(", ")];
  const [rest, unknown] = [names.slice(MOST_NAMES), count - names.length];
  const last = unknown > 0 ? `${rest.length ? ", and " : ""}${number(unknown)} that were not recorded` : "";
  return [names.slice(0, MOST_NAMES).join(", "), h("details", {}, h("summary", {}, `and ${number(count - Math.min(names.length, MOST_NAMES))} more`), `${rest.join(", ")}${last}`)];
}

function some(names, count = names.length) {
  const shown = names.slice(0, MOST_NAMES).join(", ");
  const left = count - Math.min(names.length, MOST_NAMES);
  return left > 0 ? `${shown} and ${number(left)} more` : shown;
}

customElements.define("rp-decision-view", DecisionView);
