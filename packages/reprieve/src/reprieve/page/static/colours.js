// Which colours are there, and what do they mean? The canvas has those of the style sheet, read again when the theme
// changes; one line above the map says what they stand for.

import { LEVELS } from "./bands.js";
import { h } from "./dom.js";
import { number } from "./words.js";

/** @returns {{levels: string[], ink: string, muted: string, free: string, line: string, panel: string, paper: string, font: string, leaving: string,
 *   nominated: string, spared: string, accent: string}} */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    levels: Array.from({ length: LEVELS }, (_, level) => read(`--level-${level}`)),
    ink: read("--ink"),
    muted: read("--muted"),
    free: read("--free"),
    line: read("--tile-line"),
    panel: read("--panel"),
    paper: read("--paper"),
    leaving: read("--leaving"),
    nominated: read("--nominated"),
    spared: read("--spared"),
    accent: read("--accent"),
    font: read("--font"),
  };
}

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
