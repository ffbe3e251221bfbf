// What is on this node? A card beside its tile: how full it is, and its pods with their states.

import { blocksOf } from "./bands.js";
import { h, tell } from "./dom.js";
import { amount, LEAVING, number, plural, sentenceCase, shortResource, shownKey, span, STATES } from "./words.js";

const MOST_PODS = 40;
const MOST_NODES = 32;

class Lens extends HTMLElement {
  /** @param {{scene: import("./tiles.js").Scene, names: string[], pinned: boolean, now: number}} shown */
  show({ scene, names, pinned, now }) {
    const focused = this.contains(document.activeElement) ? document.activeElement?.dataset?.uid : undefined;
    this.hidden = false;
    this.classList.toggle("pinned", pinned);
    const content = names.length === 1 ? node(this, scene, names[0], now) : several(this, scene, names);
    const close = h("button", { type: "button", class: "close", "aria-label": "Close", title: "Close (Esc)", "data-uid": "close", onclick: () => tell(this, "close-lens") }, "✕");
    this.replaceChildren(...(pinned ? [close] : []), ...content);
    if (focused !== undefined) this.querySelector(`[data-uid="${CSS.escape(focused)}"]`)?.focus();
  }

  /** Of its pods or nodes if it has any, or else of the button that closes it. */
  takeFocus() {
    (this.querySelector(".pod, .link") ?? this.querySelector(".close"))?.focus();
  }

  /** Beside a rectangle, within what holds the card. */
  place(rectangle, width, height) {
    const [wide, high, apart] = [this.offsetWidth, this.offsetHeight, 12];
    const right = rectangle.x + rectangle.width + apart;
    const left = right + wide <= width ? right : Math.max(8, rectangle.x - apart - wide);
    this.style.left = `${left}px`;
    this.style.top = `${Math.max(8, Math.min(rectangle.y - 8, height - high - 8))}px`;
  }
}

function node(lens, scene, name, now) {
  const { picture } = scene;
  const found = picture.nodes.get(name);
  if (found === undefined) return [h("p", {}, `${name} is gone`)];
  const pods = [...picture.podsOn(name)].sort((a, b) => b.priority - a.priority || (a.key < b.key ? -1 : 1));
  const near = scene.emphasis?.near?.nodes.get(name);
  const state = [found.ready ? null : "not ready", found.cordoned ? "cordoned" : null].filter(Boolean).join(", ");
  return [
    h("h3", {}, name),
    h("p", { class: "where" }, [found.pool, found.zone, state].filter(Boolean).join(" · ")),
    found.taints.length > 0 && h("p", { class: "taints" }, plural(found.taints.length, "taint"), ...found.taints.map((taint) => h("code", {}, taint))),
    near && h("p", { class: "near" }, `${sentenceCase(near.words)}.`),
    h("div", { class: "gauges" }, ...gauges(scene, found, pods)),
    pods.length > 0 && h("p", { class: "columns", "aria-hidden": "true" }, "pod", h("span", {}, "priority")),
    h("ul", { class: "pods" }, ...pods.slice(0, MOST_PODS).map((pod) => podLine(lens, scene, pod, now)),
      ...[...picture.nominatedTo(name)].slice(0, MOST_PODS).map((pod) => comingLine(lens, scene, pod))),
    pods.length > MOST_PODS && h("p", { class: "note" }, `and ${pods.length - MOST_PODS} more pods`),
  ].filter(Boolean);
}

function gauges(scene, found, pods) {
  return scene.picture.resources.flatMap((resource, row) => {
    const total = found.allocatable[row];
    if (!(total > 0)) return [];
    const blocks = blocksOf(pods, row, total).filter(({ share }) => share > 0);
    const held = blocks.reduce((sum, { share }) => sum + share, 0);
    const bar = h("div", { class: "gauge", "aria-hidden": "true" }, ...blocks.map(({ pod, share }) => {
      const part = h("span", { class: `level-${scene.scale.of(pod.priority)} state-${STATES[pod.state].name}` });
      part.style.width = `${share * 100}%`;
      return part;
    }));
    const free = Math.max(0, Math.round(total * (1 - held)));
    return [h("span", { class: "resource" }, shortResource(resource)), bar,
      h("span", { class: "free" }, `${amount(resource, free)} free of ${amount(resource, total).split(" ")[0]}`)];
  });
}

function podLine(lens, scene, pod, now) {
  const role = scene.emphasis?.roles.get(pod.uid);
  const { name, sign } = STATES[pod.state];
  const since = pod.state === LEAVING && pod.since !== null ? ` ${span(now - pod.since)}` : "";
  return h("li", {},
    h("button", { type: "button", class: `pod state-${name}`, "data-uid": pod.uid, onclick: () => tell(lens, "choose-pod", pod.uid) },
      h("span", { class: `sign level-${scene.scale.of(pod.priority)} state-${name}`, "aria-hidden": "true" }, sign),
      h("span", { class: "name" }, shownKey(pod.key, pod.uid)),
      h("span", { class: "words" }, role && role !== "member" ? role : pod.state === 1 ? "" : `${name}${since}`),
      h("span", { class: "priority" }, number(pod.priority))));
}

function comingLine(lens, scene, pod) {
  return h("li", {},
    h("button", { type: "button", class: "pod coming", "data-uid": pod.uid, onclick: () => tell(lens, "choose-pod", pod.uid) },
      h("span", { class: "sign nominated", "aria-hidden": "true" }, "◌"),
      h("span", { class: "name" }, shownKey(pod.key, pod.uid)),
      h("span", { class: "words" }, "nominated"),
      h("span", { class: "priority" }, number(pod.priority))));
}

/** A tile that stands for several nodes: each with the share that is taken. */
function several(lens, scene, names) {
  const { picture } = scene;
  return [
    h("h3", {}, `${names.length} nodes`),
    h("p", { class: "where" }, "This tile stands for all of them. Choose one:"),
    h("ul", { class: "nodes" }, ...names.slice(0, MOST_NODES).map((name) => {
      const found = picture.nodes.get(name);
      const row = found ? scene.rowOf(found) : 0;
      const held = found ? blocksOf(picture.podsOn(name), row, found.allocatable[row]).reduce((sum, b) => sum + b.share, 0) : 0;
      return h("li", {}, h("button", { type: "button", class: "link", "data-uid": name, onclick: () => tell(lens, "choose-node", name) }, name),
        h("span", {}, ` ${Math.round(held * 100)} % of ${shortResource(picture.resources[row])}`));
    })),
    names.length > MOST_NODES && h("p", { class: "note" }, `and ${names.length - MOST_NODES} more nodes: zoom in`),
  ].filter(Boolean);
}

customElements.define("rp-lens", Lens);
