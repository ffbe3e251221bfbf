// Which tile is where? Pure: nodes, a width and a height go in, rectangles come out.

import { byName } from "./words.js";

const LARGEST = 320;
const SMALLEST = 8;
const SEVERAL = 10; // how large a tile is that stands for several nodes
const STRETCH = 1.7; // tiles may be so much higher than wide
const NARROWER = 0.75;
const ZOOM = 1.25;
const MARGIN = 16;
const HEAD = 26;
const BETWEEN = 14;
const LEAST_COLUMNS = 4;
const LABELLED = 54;
const LEAST_WIDTH = 150; // for the words above a section

/**
 * @typedef {{name: string, nodes: string[]}} Section
 * @typedef {{x: number, y: number, width: number, height: number, nodes: string[]}} Tile
 * @typedef {{tiles: Tile[], heads: {name: string, x: number, y: number, width: number, nodes: string[]}[],
 *   height: number, size: number, gap: number, perTile: number, tileOf: Map<string, number>}} Layout
 */

/** @returns {Section[]} nodes by pool or by zone, in the order that people count in */
export function sectionsOf(nodes, by) {
  const sections = new Map();
  for (const node of nodes) {
    const name = node[by] || "no " + by;
    if (!sections.has(name)) sections.set(name, []);
    sections.get(name).push(node.name);
  }
  return [...sections]
    .map(([name, names]) => ({ name, nodes: names.sort(byName) }))
    .sort((a, b) => byName(a.name, b.name));
}

/**
 * The largest tiles that fit without scrolling, and as high as there is room. If not even the smallest do, a tile stands
 * for several nodes. `zoom` steps above 0 make tiles larger than fits.
 * @param {Section[]} sections
 * @returns {Layout}
 */
export function layOut(sections, width, height, zoom = 0) {
  const fits = (wide, high, perTile = 1) => boxes(sections, width, wide, high, perTile).height <= height;
  const fitting = countdown(LARGEST, SMALLEST).find((size) => fits(size, size));
  if (zoom > 0) return square(sections, width, (fitting ?? SMALLEST / ZOOM) * ZOOM ** zoom);
  if (fitting !== undefined) return placed(sections, width, ...roomiest(fitting, fits), 1);
  const most = Math.max(...sections.map((section) => section.nodes.length));
  let perTile = 2;
  while (perTile <= most && !fits(SEVERAL, SEVERAL, perTile)) perTile *= 2;
  return placed(sections, width, SEVERAL, highest(SEVERAL, (wide, high) => fits(wide, high, perTile)), perTile);
}

/** A little less wide, tiles may find room beside each other and be much higher. Names are worth more. */
function roomiest(widest, fits) {
  const shapes = countdown(widest, Math.ceil(widest * NARROWER)).filter((wide) => labelOf(wide) === labelOf(widest) && fits(wide, wide)).map((wide) => [wide, highest(wide, fits)]);
  return shapes.reduce((best, one) => (one[0] * one[1] > best[0] * best[1] ? one : best));
}

function highest(wide, fits) {
  let [low, high] = [wide, Math.floor(wide * STRETCH)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(wide, middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

const countdown = (from, to) => Array.from({ length: from - to + 1 }, (_, step) => from - step);

function square(sections, width, wanted) {
  const size = Math.min(LARGEST, Math.round(wanted));
  return placed(sections, width, size, size, 1);
}

/** How many steps of zoom change anything. */
export function mostZoom(layout) {
  return Math.ceil(Math.log((LARGEST * layout.perTile) / layout.size) / Math.log(ZOOM));
}

/** Large tiles have their node's name below them. */
export const labelOf = (size) => (size >= LABELLED ? 15 : 0);

export const gapOf = (size) => (size >= 46 ? 8 : size >= 26 ? 5 : size >= 15 ? 3 : 2);

/**
 * Where the sections are, and how many columns each has. Small sections stand side by side; a large one has rows of
 * its own.
 */
function boxes(sections, width, size, high, perTile) {
  const gap = gapOf(size);
  const step = size + gap;
  const columns = Math.max(1, Math.floor((width - 2 * MARGIN + gap) / step));
  let [x, y, rowHeight] = [MARGIN, MARGIN - 4, 0];
  const found = sections.map(({ nodes }) => {
    const count = Math.ceil(nodes.length / perTile);
    const rows = Math.max(count <= columns / 2 ? 2 : 1, Math.ceil(count / columns));
    const own = Math.min(columns, Math.max(LEAST_COLUMNS, Math.ceil(count / rows)));
    const taken = Math.max(own * step, LEAST_WIDTH);
    if (x > MARGIN && x + taken - gap > width - MARGIN) [x, y, rowHeight] = [MARGIN, y + rowHeight + BETWEEN, 0];
    const box = { x, y, columns: own, count, width: taken - gap };
    rowHeight = Math.max(rowHeight, HEAD + Math.ceil(count / own) * (high + gap + labelOf(size)));
    x += taken + BETWEEN;
    return box;
  });
  return { found, height: y + rowHeight + MARGIN / 2 };
}

function placed(sections, width, size, high, perTile) {
  const gap = gapOf(size);
  const [across, down] = [size + gap, high + gap + labelOf(size)];
  const { found, height } = boxes(sections, width, size, high, perTile);
  const layout = { tiles: [], heads: [], height, size, gap, perTile, tileOf: new Map() };
  found.forEach(({ x, y, columns, count, width: wide }, index) => {
    const { name, nodes: all } = sections[index];
    layout.heads.push({ name, x, y, width: wide, nodes: all });
    for (let tile = 0; tile < count; tile++) {
      const nodes = all.slice(tile * perTile, (tile + 1) * perTile);
      for (const node of nodes) layout.tileOf.set(node, layout.tiles.length);
      layout.tiles.push({ x: x + (tile % columns) * across, y: y + HEAD + Math.floor(tile / columns) * down, width: size, height: high, nodes });
    }
  });
  return layout;
}

/** The number of the tile at a point, or -1. A point in a gap belongs to the tile on its left. */
export function tileAt(layout, x, y) {
  return layout.tiles.findIndex(
    (tile) => x >= tile.x && x < tile.x + tile.width + layout.gap && y >= tile.y && y < tile.y + tile.height + layout.gap,
  );
}

/** The tile that an arrow key leads to. */
export function neighbour(layout, from, key) {
  const tile = layout.tiles[from];
  if (tile === undefined) return layout.tiles.length ? 0 : -1;
  const last = layout.tiles.length - 1;
  if (key === "ArrowLeft") return Math.max(0, from - 1);
  if (key === "ArrowRight") return Math.min(last, from + 1);
  if (key === "Home") return 0;
  if (key === "End") return last;
  const down = key === "ArrowDown";
  const beyond = layout.tiles
    .map((other, number) => ({ number, dy: other.y - tile.y, dx: Math.abs(other.x - tile.x) }))
    .filter(({ dy }) => (down ? dy > 0 : dy < 0));
  if (!beyond.length) return from;
  const nearest = Math.min(...beyond.map(({ dy }) => Math.abs(dy)));
  const row = beyond.filter(({ dy }) => Math.abs(dy) === nearest);
  return row.reduce((best, one) => (one.dx < best.dx ? one : best)).number;
}
