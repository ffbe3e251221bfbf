// Which colours are there, and what do they mean? The canvas has those of the style sheet, read again when the theme
// changes; one line above the map says what they stand for.

import { LEVELS } from "./bands.js";
import { h } from "./dom.js";
import { number } from "./words.js";

/** @returns {{levels: string[], onLevels: string[], ink: string, muted: string, free: string, line: string, panel: string, paper: string, font: string, leaving: string,
 *   nominated: string, spared: string, accent: string}} */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(name).trim();
  const levels = Array.from({ length: LEVELS }, (_, level) => read(`--level-${level}`));
  return {
    levels,
    onLevels: levels.map(inkOn),
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

/** The ink that is read best on a colour as #rrggbb. */
export function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return luminance > 0.18 ? "#060a0c" : "#ffffff";
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
