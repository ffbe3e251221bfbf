// Which colours does the canvas use? Those of the style sheet, read again when the theme changes.

import { LEVELS } from "./bands.js";

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
