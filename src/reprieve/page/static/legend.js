// What do colours and signs mean? One line above the map.

import { h } from "./dom.js";
import { number } from "./words.js";

/** @param {ReturnType<import("./bands.js").scaleOf>} scale */
export function legendOf(scale) {
  const bands = scale.legend.map(({ level, from, to }) =>
    h("li", {}, h("span", { class: `swatch level-${level}` }), from === to ? number(from) : `${number(from)}–${number(to)}`));
  const signs = [
    ["free", "free"],
    ["leaving", "leaving"],
    ["marked", "marked"],
    ["nominated", "nominated"],
    ["spared", "spared"],
    ["cordoned", "cordoned"],
    ["broken", "not ready"],
  ].map(([name, words]) => h("li", {}, h("span", { class: `swatch ${name}` }), words));
  return [h("li", { class: "title" }, "Priority"), ...bands, ...signs];
}
