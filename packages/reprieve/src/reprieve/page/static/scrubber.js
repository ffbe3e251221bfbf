// When was it? A slider over the journal, above it the preemptions of each minute.

import { h, setText, svg, tell } from "./dom.js";
import { minute, moment, plural } from "./words.js";

const HEIGHT = 30;
const MINUTE = 60;
const PLAY_STEPS = 120;
const PLAY_EVERY = 500;

class Scrubber extends HTMLElement {
  #history = null;
  #at = null;
  #recorded = false;
  #playing = 0;
  #plot = svg("svg", { role: "img", preserveAspectRatio: "none" });
  #slider = h("input", { type: "range", min: "0", step: "1", "aria-label": "Time", title: "The moment that is shown; bars are preemptions per minute", oninput: () => this.#slide() });
  #words = h("output", { class: "at" });
  #first = h("span", { class: "end" });
  #live = h("button", { type: "button", class: "live", "aria-keyshortcuts": "l", onclick: () => this.toggle() });
  #play = h("button", { type: "button", "aria-label": "Play", title: "Play from here", onclick: () => this.#togglePlay() }, "▶");
  #table = h("rp-table", { class: "sr-only" });
  #none = h("p", { class: "note", hidden: true });
  #controls = h("div", { class: "controls" },
    h("button", { type: "button", "aria-label": "Previous decision", title: "The decision before ([)", "aria-keyshortcuts": "[", onclick: () => tell(this, "step-decision", -1) }, "◀"),
    this.#play,
    h("button", { type: "button", "aria-label": "Next decision", title: "The decision after (])", "aria-keyshortcuts": "]", onclick: () => tell(this, "step-decision", 1) }, "▶▏"),
    this.#live);
  #time = h("div", { class: "time" }, this.#first, h("div", { class: "track" }, this.#plot, this.#slider), this.#words);

  connectedCallback() {
    if (this.firstChild) return;
    this.append(this.#controls, this.#time, this.#none, this.#table);
    this.#render();
  }

  /** @param {{from: number, to: number, knownSince: number | null, preemptions: [number, number][]} | null} history */
  show(history, sentence = "") {
    this.#history = history;
    this.#time.hidden = history === null;
    this.#play.hidden = history === null;
    this.#none.hidden = history !== null || sentence === "";
    setText(this.#none, sentence);
    if (history === null) return;
    this.#slider.max = String(Math.max(1, Math.round(history.to - history.from)));
    this.#draw();
    this.#render();
  }

  /** Of a recording, the end is what is live elsewhere. */
  set recorded(recorded) {
    this.#recorded = recorded;
    this.#render();
  }

  /** @param {number | null} at null is now */
  set at(at) {
    this.#at = at;
    this.#render();
  }

  toggle() {
    this.#stop();
    tell(this, "go-to", this.#at === null ? this.#history?.to ?? "now" : null);
  }

  #slide() {
    const at = this.#history.from + Number(this.#slider.value);
    this.#stop();
    tell(this, "go-to", at >= this.#history.to - 1 ? null : at);
  }

  #togglePlay() {
    if (this.#playing) return this.#stop();
    this.#playing = setInterval(() => this.#step(), PLAY_EVERY);
    if (this.#at === null) tell(this, "go-to", this.#history.from);
    this.#render();
  }

  #step() {
    const { from, to } = this.#history;
    const next = (this.#at ?? from) + Math.max(1, (to - from) / PLAY_STEPS);
    if (next >= to) this.#stop();
    tell(this, "go-to", next >= to ? null : next);
  }

  #stop() {
    clearInterval(this.#playing);
    this.#playing = 0;
    this.#render();
  }

  #render() {
    const past = this.#at !== null;
    this.classList.toggle("past", past);
    setText(this.#live, this.#recorded ? "To the end" : past ? "Back to live" : "Pause");
    this.#live.disabled = this.#recorded && !past;
    setText(this.#play, this.#playing ? "▮▮" : "▶");
    this.#play.setAttribute("aria-label", this.#playing ? "Stop playing" : "Play from here");
    this.#play.title = this.#playing ? "Stop playing" : "Play from here";
    this.#live.title = this.#recorded ? "The end of the recording (l)" : past ? "Show the present (l)" : "Hold what is on the screen (l)";
    if (this.#history === null) return;
    const { from, to, knownSince } = this.#history;
    const at = this.#at ?? to;
    this.#slider.value = String(Math.round(at - from));
    this.#slider.setAttribute("aria-valuetext", past || this.#recorded ? moment(at, to) : "now");
    setText(this.#first, knownSince ? `known since ${moment(knownSince, to)}` : minute(from));
    setText(this.#words, past || this.#recorded ? moment(at, to) : "now");
  }

  #draw() {
    const { from, to, preemptions } = this.#history;
    const width = Math.max(MINUTE, to - from);
    const most = Math.max(1, ...preemptions.map(([, count]) => count));
    this.#plot.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.#plot.replaceChildren(...preemptions.filter(([, count]) => count > 0).map(([start, count]) => {
      const high = Math.max(2, (count / most) * HEIGHT);
      return svg("rect", { x: Math.max(0, start - from), y: HEIGHT - high, width: Math.max(Math.min(MINUTE * 0.8, width / 30), width / 400), height: high });
    }));
    const busy = preemptions.filter(([, count]) => count > 0);
    const total = busy.reduce((sum, [, count]) => sum + count, 0);
    const peak = busy.find(([, count]) => count === most);
    this.#plot.setAttribute("aria-label", `Preemptions per minute from ${minute(from)} to ${minute(to)}: ${plural(total, "victim")}${peak ? `, at most ${most} at ${minute(peak[0])}` : ""}`);
    const rows = (start, end) => busy.slice(start, end).map(([time, count]) => [moment(time, to), count]);
    this.#table.show({ caption: "Preemptions per minute", columns: [{ name: "Minute" }, { name: "Preemptions", numeric: true }], count: busy.length, rows });
  }
}

customElements.define("rp-scrubber", Scrubber);
