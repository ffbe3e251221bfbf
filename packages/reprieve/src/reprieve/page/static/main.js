// What belongs together? The one place that knows all parts of the page: it hands each what it needs.

import "./cluster-view.js";
import "./decision-list.js";
import "./decision-view.js";
import "./exposure-panel.js";
import "./keys.js";
import "./pending-list.js";
import "./scrubber.js";
import "./search.js";
import "./why-panel.js";
import "./whatif-panel.js";
import { Client, keepToken, sentenceOf, takeToken } from "./client.js";
import { h, setText } from "./dom.js";
import { emphasis } from "./emphasis.js";
import { nearness } from "./nearness.js";
import { Following } from "./following.js";
import { Picture, kindAndName, membersOf, podsOfUnit, rootOf } from "./picture.js";
import { showNumbers } from "./summary.js";
import { tabs } from "./tabs.js";
import { theme } from "./theme.js";
import { clock, moment, plural, shownKey, sparedWords } from "./words.js";

const TEXT_EVERY = 400; // lists and numbers follow the map at this pace
const HISTORY_EVERY = 20_000;
const SCRUB_PAUSE = 120;

const by = (id) => document.getElementById(id);

class Page {
  #client = new Client(takeToken(location, history, sessionStorage));
  #live = null;
  #liveAt = 0; // when the live picture's time was told, on the browser's own clock
  #past = null; // the picture that the scrubber chose
  #decision = null;
  #followed = false; // the time that is shown is that of the open decision
  #history = null;
  #historyRead = Promise.resolve();
  #asked = 0;
  #selected = null; // what a reader chose to light up
  #due = 0;
  #historyDue = 0;
  #wanted = null; // the time that the scrubber wants, while an earlier one is being fetched
  #map = by("map");
  #list = by("panel-decisions");
  #pending = by("panel-pending");
  #view = by("decision");
  #scrubber = by("scrubber");
  #showPanel = tabs(by("panels"), (panel) => this.#panelShown(panel));
  #following = new Following(this.#client, {
    keyframe: (keyframe) => this.#keyframe(keyframe),
    changes: (message) => this.#changes(message),
    connected: () => this.#connection("live", null),
    recorded: () => this.#connection("recording", null),
    lost: (sentence, wait) => this.#lost(sentence, wait),
    ended: (sentence) => this.#ended(sentence),
  });

  start() {
    const retheme = theme(by("theme"), () => this.#map.retheme());
    this.#showPanel("panel-decisions");
    this.#listen();
    this.#bindKeys(retheme);
    window.addEventListener("online", () => this.#following.retry());
    this.#following.run();
  }

  /** The picture on the screen. */
  get #shown() {
    return this.#past ?? this.#live;
  }

  #now() {
    if (this.#past !== null) return this.#past.time;
    if (this.#live.mode === "offline") return this.#live.time;
    return this.#live.time + (performance.now() - this.#liveAt) / 1000;
  }

  // --- what the server says ---

  #keyframe(keyframe) {
    const isFirst = this.#live === null;
    this.#live = new Picture(keyframe);
    this.#liveAt = performance.now();
    setText(by("cluster-name"), this.#live.cluster ?? "");
    document.title = `Reprieve · ${this.#live.cluster}`;
    document.querySelector("main").hidden = false; // before, there is nothing that a control could act on
    if (this.#past === null) this.#showAll(isFirst);
    by("panel-whatif").prepare(this.#client, this.#live.can);
    by("panel-why").prepare(this.#client, () => this.#shown);
    for (const name of ["why", "exposure"]) by(`tab-${name}`).hidden = this.#live.can[name] === false;
    this.#scrubber.recorded = this.#live.mode === "offline";
    this.#historyRead = this.#loadHistory();
    if (isFirst) this.#restore();
  }

  #changes(message) {
    const changed = this.#live.apply(message);
    this.#liveAt = performance.now();
    if (this.#past !== null) return this.#followed ? this.#textSoon() : undefined;
    this.#map.changed(changed);
    this.#textSoon();
    if (changed.decisions.size) this.#historySoon(1_500);
    if (changed.decisions.has(this.#decision?.id)) this.#loadDecision(this.#decision.id);
  }

  #connection(state, sentence) {
    by("connection").dataset.state = state;
    setText(by("connection"), state === "ended" ? "no access" : this.#past !== null && state !== "lost" ? "looking back" : state);
    by("banner").hidden = sentence === null;
    if (sentence === null) by("banner").replaceChildren();
  }

  /** The words for the connection depend on what is shown; a banner stays as long as its reason. */
  #reconsider() {
    const { state } = by("connection").dataset;
    this.#connection(state, state === "lost" || state === "ended" ? "" : null);
  }

  #lost(sentence, wait) {
    this.#connection("lost", sentence);
    const since = this.#live === null ? "" : ` What you see is of ${clock(this.#live.time)}.`;
    const what = this.#live === null ? "Not connected yet" : "Connection lost";
    by("banner").replaceChildren(
      h("span", {}, `${what}: ${sentence}.${since} ${wait > 1000 ? `Trying again in ${Math.round(wait / 1000)} s.` : "Trying again."}`),
      h("button", { type: "button", onclick: () => this.#following.retry() }, "Try now"));
  }

  #ended(sentence) {
    this.#connection("ended", sentence);
    const stays = this.#live === null ? "" : ` What you see is of ${clock(this.#live.time)}.`;
    const field = h("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false", required: true });
    by("banner").replaceChildren(
      h("span", {}, `No access: ${sentence}.${stays}`),
      h("form", { onsubmit: (event) => { event.preventDefault(); this.#enter(field.value.trim()); } },
        h("label", { for: "token" }, "Token"), field, h("button", { type: "submit" }, "Use")));
  }

  #enter(token) {
    keepToken(token, sessionStorage);
    this.#client.use(token);
    this.#connection("connecting", null);
    this.#following.run();
  }

  // --- what is on the screen ---

  /** @param {boolean} mapFirst the first frame need not wait for lists and numbers */
  #showAll(mapFirst = false) {
    this.#map.show(this.#shown, () => this.#now());
    if (this.#selected !== null) this.#emphasize(this.#selected.title, this.#selected.parts);
    else this.#emphasizeDecision();
    if (mapFirst) requestAnimationFrame(() => setTimeout(() => this.#text()));
    else this.#text();
  }

  #textSoon() {
    this.#due ||= setTimeout(() => this.#text(), TEXT_EVERY);
  }

  #text() {
    clearTimeout(this.#due);
    this.#due = 0;
    showNumbers(by("numbers"), this.#shown);
    this.#list.show(this.#followed ? this.#live : this.#shown); // one decision must not hide those after it
    if (!this.#pending.hidden) this.#pending.show(this.#shown);
    setText(by("tab-pending"), `Pending ${this.#shown.pending.size || ""}`.trim());
    if (this.#decision !== null) this.#showDecision();
  }

  #panelShown(panel) {
    document.body.dataset.panel = panel;
    if (this.#live === null) return;
    if (panel === "panel-pending") this.#pending.show(this.#shown);
    if (panel === "panel-exposure") {
      by("panel-exposure").prepare(this.#client, this.#live);
      by("panel-exposure").load();
    }
  }

  /** Lights up what a reader chose, instead of the open decision. */
  #emphasize(title, parts) {
    this.#selected = { title, parts };
    this.#map.emphasize(emphasis(title, this.#shown, parts));
  }

  // --- what a reader chooses ---

  #listen() {
    const on = (type, act) => document.addEventListener(type, (event) => act(event.detail));
    on("choose-node", (name) => this.#map.pin(name));
    on("choose-pod", (uid) => this.#choosePod(uid));
    on("choose-group", (key) => this.#chooseGroup(key));
    on("choose-unit", (unit) => this.#emphasize(`${unit}.`, { members: podsOfUnit(this.#shown, unit).map(({ uid }) => uid) }));
    on("choose-decision", (id) => this.#loadDecision(id, true));
    on("close-decision", () => this.#closeDecision());
    on("clear-emphasis", () => this.#emphasizeDecision());
    on("show-overlay", (overlay) => this.#showOverlay(overlay));
    on("step-decision", (step) => this.#stepDecision(step));
    on("go-to", (at) => this.#goTo(at));
    on("go-to-decision", (at) => this.#goTo(at, at !== null));
    on("announce", (words) => setText(by("announcements"), words));
    by("open-search").addEventListener("click", () => this.#live && by("search").open(this.#shown));
    by("open-keys").addEventListener("click", () => by("keys").open());
    window.addEventListener("hashchange", () => this.#restore());
  }

  #bindKeys(retheme) {
    const panel = (name, focus = false) => () => {
      if (by(`tab-${name}`).hidden) return;
      this.#showPanel(`panel-${name}`);
      if (focus) by(`panel-${name}`).focusInput();
      else by(`tab-${name}`).focus();
    };
    by("keys").bind([
      { keys: ["/"], words: "search", act: () => this.#live && by("search").open(this.#shown) },
      { keys: ["c"], words: "the map of nodes", act: () => this.#map.focusMap() },
      { keys: ["d"], words: "decisions", act: panel("decisions") },
      { keys: ["p"], words: "pending pods and groups", act: panel("pending") },
      { keys: ["w"], words: "what-if", act: panel("whatif", true) },
      { keys: ["e"], words: "exposure", act: panel("exposure") },
      { keys: ["y"], words: "why", act: panel("why", true) },
      { keys: ["[", "]"], words: "earlier and later decision", act: (key) => this.#stepDecision(key === "[" ? -1 : 1) },
      { keys: ["l"], words: "pause, and back to live", act: () => this.#scrubber.toggle() },
      { keys: ["+", "-"], words: "larger and smaller tiles", act: (key) => this.#map.zoom(key === "+" ? 1 : -1) },
      { keys: ["t"], words: "the map as a table", act: () => this.#map.toggleTable() },
      { keys: ["m"], words: "light, dark, or as the system has it", act: retheme },
      { keys: ["?"], words: "these keys", act: () => by("keys").open() },
      { keys: ["Escape"], words: "close the node, the decision, the selection", act: () => this.#escape() },
    ]);
  }

  #escape() {
    if (this.#map.hasPinned) this.#map.unpin();
    else if (this.#selected !== null) this.#emphasizeDecision();
    else if (this.#decision !== null) this.#closeDecision();
    else this.#emphasizeDecision();
  }

  #choosePod(uid) {
    const pod = this.#shown.pods.get(uid);
    if (pod === undefined) return setText(by("announcements"), "This pod is gone.");
    by("panel-why").propose("pod", pod.key);
    if (pod.group !== null) return this.#chooseGroup(rootOf(this.#shown, pod.group), pod);
    this.#emphasize(`Pod ${shownKey(pod.key, pod.uid)}, priority ${pod.priority}.`, { members: [uid] });
    if (pod.node !== null) this.#map.pin(pod.node);
  }

  #chooseGroup(key, chosen = null) {
    const pods = membersOf(this.#shown, key);
    const nodes = new Set(pods.map(({ node }) => node).filter(Boolean));
    const { isTree, name } = kindAndName(key);
    if (chosen === null) by("panel-why").propose(isTree ? "tree" : "group", name);
    this.#emphasize(`${isTree ? "Tree" : "Group"} ${name}: ${plural(pods.length, "pod")} on ${plural(nodes.size, "node")}.`, { members: pods.map(({ uid }) => uid) });
    if (chosen?.node) this.#map.pin(chosen.node);
  }

  #showOverlay({ victims = [], spared = [], placements = [], miss = null, excluded = [] }) {
    this.#map.unpin();
    const near = nearness(this.#shown, { miss, excluded });
    const found = near === null || placements.length > 0 ? `${plural(victims.length, "victim")}, ${plural(placements.length, "pod")} to place.`
      : `it does not fit.${miss?.because ? ` Nearest: ${miss.because.text}.` : ""}`;
    this.#emphasize(`What-if: ${found}`, { victims, spared, placements, near });
  }

  async #loadDecision(id, moves = false) {
    const asked = ++this.#asked;
    this.#list.choose(id);
    try {
      const found = await this.#client.decision(id, this.#live.decisions.has(id) ? null : this.#client.at);
      if (moves) await this.#historyRead;
      if (asked !== this.#asked) return; // another one was chosen meanwhile
      this.#decision = found;
      if (moves) this.#followDecision();
      this.#showDecision();
      if (moves) intoView(this.#view);
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#decision = null;
      this.#view.fail(id, sentenceOf(error));
    }
    this.#emphasizeDecision();
    if (moves) history.replaceState(null, "", `#decision=${encodeURIComponent(id)}`);
  }

  #closeDecision() {
    this.#asked += 1;
    this.#decision = null;
    this.#view.hidden = true;
    this.#list.choose(null);
    this.#emphasizeDecision();
    if (this.#followed) this.#goTo(null);
    intoView(this.#list);
    history.replaceState(null, "", location.pathname);
  }

  #showDecision() {
    this.#view.show(this.#decision, this.#shown, this.#now(), this.#placeInTime());
  }

  /** A decision that has ended is seen on the cluster as it was; one that goes on, on the cluster as it is. */
  #followDecision() {
    const { time } = this.#decision.summary;
    if (this.#isOver() && this.#whyNoPast() === "") this.#goTo(time, true);
    else if (this.#followed) this.#goTo(null);
  }

  #isOver() {
    const { outcome, stage, demand } = this.#decision.summary;
    const isOfDemand = ({ uid, group }) => uid === demand.uid || (group !== null && kindAndName(rootOf(this.#live, group)).name === demand.key);
    return stage === "ended" || (outcome === "refused" && ![...this.#live.pending].some(isOfDemand));
  }

  /** Which time the map shows beside the open decision, and how to get to the other one. */
  #placeInTime() {
    if (!this.#isOver()) return null;
    const { time } = this.#decision.summary;
    const present = this.#live.mode === "offline" ? "the end of the recording" : "the present";
    if (this.#past !== null) return { sentence: `The map shows the cluster as it was at ${moment(this.#past.time, this.#live.time)}.`, label: `Show ${present}`, at: null };
    const missing = this.#whyNoPast();
    if (missing) return { sentence: `The map shows ${present}, not the cluster as it was then: ${missing}.` };
    return { sentence: `The map shows ${present}.`, label: "Show the cluster as it was then", at: time };
  }

  /** Why the cluster cannot be shown as it was at the open decision; empty if it can. */
  #whyNoPast() {
    if (this.#live.can.history === false) {
      return this.#live.mode === "up" ? "this cluster keeps no history (`reprieve up --data-dir DIR` does)" : "there is no history here";
    }
    if (this.#history === null) return "the history cannot be read";
    const { from } = this.#history;
    return this.#decision.summary.time < from ? `the history begins at ${moment(from, this.#live.time)}` : "";
  }

  #emphasizeDecision() {
    this.#selected = null;
    if (this.#decision === null) return this.#map.emphasize(null);
    const { id, summary: { nodes = [], outcome }, preemption, placements = [], findings = [], miss = null } = this.#decision;
    if (outcome === "refused") {
      const excluded = findings.flatMap(({ reason, examples = [] }) => examples.map((name) => ({ name, because: reason })));
      const near = nearness(this.#shown, { miss, excluded });
      return this.#map.emphasize(emphasis(`It does not fit.${miss?.because ? ` Nearest: ${miss.because.text}.` : ""}`, this.#shown, { near }));
    }
    const { victims = [], pods = 0, spared = [], unitsSpared = 0, podsSpared } = preemption ?? {};
    const beside = spared.flatMap(({ unit }) => podsOfUnit(this.#shown, unit)).map(({ uid }) => uid);
    const where = new Set([...nodes, ...victims.map(({ node }) => node).filter(Boolean)]);
    const title = `Decision ${id}: ${plural(pods, "victim")} on ${plural(where.size, "node")}${unitsSpared ? `, ${sparedWords(unitsSpared, podsSpared)} spared` : ""}.`;
    this.#map.emphasize(emphasis(title, this.#shown,
      { victims: victims.map(({ pod }) => pod.uid), spared: beside, nodes: where, placements: placements.length ? placements : nodes.map((node) => ({ node })) }));
  }

  #stepDecision(step) {
    const id = this.#list.beside(step);
    if (id) this.#loadDecision(id, true);
  }

  /** The fragment names a decision, a node or a panel. */
  #restore() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (wanted.has("token")) return location.reload();
    if (wanted.has("decision")) this.#loadDecision(wanted.get("decision"), true);
    if (wanted.has("node")) this.#map.pin(wanted.get("node"));
    if (wanted.has("panel")) this.#showPanel(`panel-${wanted.get("panel")}`);
  }

  // --- time ---

  #historySoon(wait) {
    this.#historyDue ||= setTimeout(() => this.#loadHistory(), wait);
  }

  async #loadHistory() {
    clearTimeout(this.#historyDue);
    this.#historyDue = 0;
    if (this.#live.can.history === false) {
      const how = this.#live.mode === "up" ? "`reprieve up --data-dir DIR` keeps a history to look back into." : "To look back into a journal, open it with `reprieve page DIR`.";
      return this.#scrubber.show(null, `This is the present. ${how}`);
    }
    try {
      this.#history = await this.#client.history();
      this.#scrubber.show(this.#history);
    } catch (error) {
      this.#scrubber.show(null, `The past cannot be shown: ${sentenceOf(error)}.`);
    }
    if (this.#past === null && this.#live.mode !== "offline") this.#historySoon(HISTORY_EVERY);
  }

  /**
   * @param {number | null | "now"} at null is live; "now" holds the picture that is on the screen
   * @param {boolean} followed it is the time of the open decision
   */
  async #goTo(at, followed = false) {
    this.#followed = followed;
    if (at === null) {
      [this.#past, this.#wanted, this.#client.at] = [null, null, null];
      this.#scrubber.at = null;
      this.#reconsider();
      this.#showAll();
      return this.#historySoon(0);
    }
    const time = at === "now" ? this.#live.time : at;
    this.#scrubber.at = time;
    const busy = this.#wanted !== null;
    this.#wanted = time;
    if (busy) return;
    await new Promise((resolve) => { setTimeout(resolve, SCRUB_PAUSE); });
    while (this.#wanted !== null) {
      const asked = this.#wanted;
      try {
        const picture = new Picture(await this.#client.picture(asked));
        if (this.#wanted === null) return; // back to live meanwhile
        [this.#past, this.#client.at] = [picture, asked];
        this.#reconsider();
        this.#showAll();
      } catch (error) {
        by("banner").hidden = false;
        by("banner").replaceChildren(h("span", {}, `The past cannot be shown: ${sentenceOf(error)}.`));
      }
      if (this.#wanted === asked) this.#wanted = null;
    }
  }
}

/** On a narrow screen parts are below each other. */
function intoView(part) {
  if (matchMedia("(max-width: 900px)").matches) part.scrollIntoView({ block: "start" });
}

new Page().start();
