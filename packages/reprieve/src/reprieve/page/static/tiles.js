// How does a tile look? Drawing on a canvas, and nothing else: what is drawn comes as arguments.

import { blocksOf, LEVELS, shownResource, sumsOf } from "./bands.js";
import { MEMBER, SPARED, VICTIM } from "./emphasis.js";
import { labelOf } from "./layout.js";
import { LEAVING, MARKED } from "./words.js";

const SINGLE_PODS = 26; // from this size on, a tile has a block for each pod
const NAMED = 110; // from this size on, a block has the name of its pod
const LINE = 13;
const SIGNS = 12; // below, a colour alone has to do: the lens and the table have the words
const DIMMED = 0.3;

/**
 * @typedef {object} Scene what all tiles have in common
 * @property {import("./picture.js").Picture} picture
 * @property {ReturnType<import("./bands.js").scaleOf>} scale
 * @property {string} resource the chosen one
 * @property {import("./emphasis.js").Emphasis | null} emphasis
 * @property {ReturnType<import("./colours.js").coloursOf>} colours
 */

/**
 * Bands of many tiles are filled colour by colour: to change the colour costs more than to fill.
 * @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {import("./layout.js").Tile[]} tiles
 */
export function drawTiles(pen, scene, tiles) {
  const isLit = (tile) => scene.emphasis === null || tile.nodes.some((name) => scene.emphasis.nodes.has(name));
  const lit = tiles.filter(isLit);
  drawAlike(pen, scene, lit, 1);
  if (lit.length < tiles.length) drawAlike(pen, scene, tiles.filter((tile) => !isLit(tile)), DIMMED);
  pen.globalAlpha = 1;
}

function drawAlike(pen, scene, tiles, alpha) {
  pen.globalAlpha = alpha;
  const fills = new Map();
  for (const tile of tiles) {
    fill(fills, scene.colours.free, tile.x, tile.y, tile.size, tile.size);
    if (!hasBlocks(scene, tile)) fillSums(fills, scene, tile);
  }
  for (const [colour, rectangles] of fills) {
    pen.fillStyle = colour;
    for (let at = 0; at < rectangles.length; at += 4) {
      pen.fillRect(rectangles[at], rectangles[at + 1], rectangles[at + 2], rectangles[at + 3]);
    }
  }
  for (const tile of tiles) drawSigns(pen, scene, tile);
}

/** @param {Map<string, number[]>} fills rectangles by colour, four numbers each */
function fill(fills, colour, x, y, width, height) {
  let rectangles = fills.get(colour);
  if (rectangles === undefined) fills.set(colour, (rectangles = []));
  rectangles.push(x, y, width, height);
}

/** Whether single pods are drawn: in large tiles, and where some of them stand out. */
function hasBlocks(scene, tile) {
  return tile.nodes.length === 1 && (tile.size >= SINGLE_PODS || (scene.emphasis?.nodes.has(tile.nodes[0]) ?? false));
}

function drawLabel(pen, scene, tile) {
  pen.font = `11px ${scene.colours.font}`;
  pen.fillStyle = scene.colours.muted;
  pen.textBaseline = "alphabetic";
  const name = tile.nodes[0];
  const fits = pen.measureText(name).width <= tile.size + 4;
  // The end of a name tells nodes of one pool apart.
  pen.fillText(fits ? name : `…${name.slice(-Math.floor(tile.size / 7))}`, tile.x, tile.y + tile.size + 14, tile.size + 4);
  drawComing(pen, scene, tile, pen.measureText(name).width + 8);
}

/** Beside the node's name: the pod that is to come, or how many. */
function drawComing(pen, scene, tile, from) {
  const coming = [...scene.picture.nominatedTo(tile.nodes[0])];
  if (!coming.length) return;
  const words = coming.length === 1 ? coming[0].key.slice(coming[0].key.indexOf("/") + 1) : `${coming.length} pods`;
  if (from + pen.measureText(`◌ ${words}`).width > tile.size + 4) return;
  pen.fillStyle = scene.colours.nominated;
  pen.fillText(`◌ ${words}`, tile.x + from, tile.y + tile.size + 14);
}

/** Erases a tile with the ring that a cursor may have drawn around it. */
export function eraseTile(pen, tile, gap) {
  const rim = Math.min(3, gap / 2);
  pen.clearRect(tile.x - rim, tile.y - rim, tile.size + 2 * rim, tile.size + 2 * rim + labelOf(tile.size));
}

export function drawRing(pen, tile, colour, gap) {
  const out = Math.min(2.5, gap / 2);
  pen.strokeStyle = colour;
  pen.lineWidth = Math.min(2, gap - 0.5);
  pen.strokeRect(tile.x - out + 0.5, tile.y - out + 0.5, tile.size + 2 * out - 1, tile.size + 2 * out - 1);
}

/** What a tile has beside its bands. */
function drawSigns(pen, scene, tile) {
  const { picture, emphasis } = scene;
  let isComing = false;
  for (const name of tile.nodes) {
    const node = picture.nodes.get(name);
    if (node === undefined) continue;
    if (hasBlocks(scene, tile)) {
      const row = shownResource(picture.resources, node.allocatable, scene.resource);
      drawBlocks(pen, scene, tile, blocksOf(picture.podsOn(name), row, node.allocatable[row]));
    }
    if ((!node.ready || node.cordoned) && tile.nodes.length === 1) drawClosed(pen, scene, tile, node);
    isComing ||= emphasis === null ? picture.nominatedTo(name).size > 0 : emphasis.placed.has(name);
  }
  if (isComing) drawNominated(pen, scene, tile);
  if (labelOf(tile.size)) drawLabel(pen, scene, tile);
}

/** One block for each pod, from the bottom up. */
function drawBlocks(pen, scene, tile, blocks) {
  const { x, size, y } = tile;
  const seam = size >= SINGLE_PODS ? 1 : 0;
  const alpha = pen.globalAlpha;
  let filled = 0;
  for (const { pod, share } of blocks) {
    const bottom = y + size - Math.round(filled * size);
    filled = Math.min(1, filled + share);
    const top = y + size - Math.round(filled * size);
    const height = Math.max(1, bottom - top - seam);
    const role = scene.emphasis?.roles.get(pod.uid);
    pen.globalAlpha = scene.emphasis !== null && role === undefined ? alpha * 0.35 : alpha;
    pen.fillStyle = scene.colours.levels[scene.scale.of(pod.priority)];
    pen.fillRect(x, bottom - height, size, height);
    if (role === VICTIM || pod.state === LEAVING) drawCrossed(pen, scene, x, bottom - height, size, height);
    else if (pod.state === MARKED) drawMarked(pen, scene, x, bottom - height, size, height);
    if (role === SPARED) drawSpared(pen, scene, x, bottom - height, size, height);
    if (role === MEMBER) drawMember(pen, scene, x, bottom - height, size, height);
    if (size >= NAMED && height >= LINE) drawName(pen, scene, pod, x, bottom - height, size, height);
  }
  pen.globalAlpha = alpha;
}

/** The end of a name tells pods of one workload apart, and the namespace is the same for most. */
function drawName(pen, scene, pod, x, y, width, height) {
  const name = pod.key.slice(pod.key.indexOf("/") + 1);
  const most = Math.floor((width - 14) / 6.2);
  const shown = name.length <= most ? name : `…${name.slice(1 - most)}`;
  const middle = y + height / 2;
  pen.font = `11px ${scene.colours.font}`;
  pen.textBaseline = "middle";
  const hatched = pod.state === LEAVING || scene.emphasis?.roles.get(pod.uid) === VICTIM;
  if (hatched) {
    pen.fillStyle = scene.colours.panel;
    pen.fillRect(x + 5, middle - 7, pen.measureText(shown).width + 6, Math.min(14, height));
  }
  // The upper levels are far from the paper, and the lower ones near it, in either theme.
  pen.fillStyle = !hatched && scene.scale.of(pod.priority) >= 3 ? scene.colours.paper : scene.colours.ink;
  pen.fillText(shown, x + 8, middle + 0.5);
}

/** Hatched in the colour of leaving: lines as well as colour. */
function drawCrossed(pen, scene, x, y, width, height) {
  pen.fillStyle = scene.colours.leaving;
  if (width < SIGNS || height < 4) {
    pen.fillRect(x, y, width, height);
    return;
  }
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = scene.colours.leaving;
  pen.lineWidth = 2;
  pen.beginPath();
  for (let start = x - height; start < x + width; start += width >= NAMED ? 10 : 6) {
    pen.moveTo(start, y + height);
    pen.lineTo(start + height, y);
  }
  pen.stroke();
  pen.strokeRect(x + 1, y + 1, width - 2, height - 2);
  pen.restore();
}

/** A corner: it will be evicted, and still runs. */
function drawMarked(pen, scene, x, y, width, height) {
  const side = Math.min(16, width / 2, Math.max(3, height));
  pen.fillStyle = scene.colours.leaving;
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x + side, y);
  pen.lineTo(x, y + Math.min(side, height));
  pen.fill();
}

/** A round sign on a rim. */
function drawSpared(pen, scene, x, y, width, height) {
  pen.strokeStyle = scene.colours.spared;
  pen.lineWidth = 2;
  pen.strokeRect(x + 1, y + 1, width - 2, Math.max(1, height - 2));
  if (height < 8 || width < SIGNS) return;
  pen.fillStyle = scene.colours.spared;
  pen.beginPath();
  pen.arc(x + width - 10, y + height / 2, Math.min(4, height / 3), 0, 2 * Math.PI);
  pen.fill();
}

function drawMember(pen, scene, x, y, width, height) {
  pen.strokeStyle = scene.colours.accent;
  pen.lineWidth = 2;
  pen.strokeRect(x + 1, y + 1, width - 2, Math.max(1, height - 2));
}

/** Bands: one for each level of priority, of all nodes that the tile stands for. */
function fillSums(fills, scene, tile) {
  const { picture, colours, scale } = scene;
  const sums = { levels: new Float64Array(LEVELS), leaving: 0, marked: 0 };
  let total = 0;
  for (const name of tile.nodes) {
    const node = picture.nodes.get(name);
    if (node === undefined) continue;
    const row = shownResource(picture.resources, node.allocatable, scene.resource);
    total += node.allocatable[row] ?? 0;
    sumsOf(picture.podsOn(name), row, scale, sums);
  }
  if (!(total > 0)) return;
  const { x, y, size } = tile;
  let filled = 0;
  const band = (held, colour) => {
    if (!(held > 0)) return;
    const bottom = Math.round(filled * size);
    filled = Math.min(1, filled + held / total);
    const height = Math.max(1, Math.round(filled * size) - bottom);
    fill(fills, colour, x, y + size - bottom - height, size, height);
  };
  for (let level = LEVELS - 1; level >= 0; level--) band(sums.levels[level], colours.levels[level]);
  band(sums.marked + sums.leaving, colours.leaving);
}

/** A dashed frame: pods are to come. */
function drawNominated(pen, scene, tile) {
  pen.strokeStyle = scene.colours.nominated;
  pen.lineWidth = tile.size >= SIGNS ? 2 : 1;
  pen.setLineDash(tile.size >= SIGNS ? [4, 3] : [2, 1]);
  const inset = pen.lineWidth / 2;
  pen.strokeRect(tile.x + inset, tile.y + inset, tile.size - 2 * inset, tile.size - 2 * inset);
  pen.setLineDash([]);
}

/** Cordoned: a bar across the top. Not ready: a cross over all of it. */
function drawClosed(pen, scene, tile, node) {
  const { x, y, size } = tile;
  if (node.ready) {
    pen.fillStyle = scene.colours.ink;
    pen.fillRect(x, y, size, Math.max(1, Math.round(size / 16)));
    return;
  }
  pen.beginPath();
  pen.moveTo(x + 1, y + 1);
  pen.lineTo(x + size - 1, y + size - 1);
  pen.moveTo(x + size - 1, y + 1);
  pen.lineTo(x + 1, y + size - 1);
  // Two strokes: one of them is seen on any band.
  for (const [colour, width] of [[scene.colours.panel, 4], [scene.colours.ink, 1.5]]) {
    pen.strokeStyle = colour;
    pen.lineWidth = size >= SINGLE_PODS ? width : width / 2;
    pen.stroke();
  }
}

/** The head of a pool: its name, and how full it is. */
export function drawHead(pen, scene, head, words) {
  pen.textBaseline = "alphabetic";
  pen.font = `600 13px ${scene.colours.font}`;
  pen.fillStyle = scene.colours.ink;
  pen.fillText(head.name, head.x, head.y + 16, head.width);
  const beside = pen.measureText(head.name).width + 10;
  if (head.width - beside < 40) return;
  pen.font = `12px ${scene.colours.font}`;
  pen.fillStyle = scene.colours.muted;
  pen.fillText(words, head.x + beside, head.y + 16, head.width - beside);
}
