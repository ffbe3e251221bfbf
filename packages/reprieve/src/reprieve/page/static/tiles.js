// How does a tile look? Drawing on a canvas, and nothing else: what is drawn comes as arguments.

import { blocksOf, heightsOf, LEVELS, sumsOf } from "./bands.js";
import { MEMBER, SPARED, VICTIM } from "./emphasis.js";
import { labelOf } from "./layout.js";
import { LEAVING, MARKED } from "./words.js";

const SINGLE_PODS = 26; // from this size on, a tile has a block for each pod
const NAMED = 84; // from this size on, a block has the name of its pod
const LINE = 13;
const SEEN = 4; // how high a block is at least, where a name has no room
const SIGNS = 12; // below, a colour alone has to do: the lens and the table have the words
const DIMMED = 0.3;

/**
 * @typedef {object} Scene what all tiles have in common
 * @property {import("./picture.js").Picture} picture
 * @property {ReturnType<import("./bands.js").scaleOf>} scale
 * @property {(node: import("./picture.js").ClusterNode) => number} rowOf which resource is shown of a node
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
    fill(fills, scene.colours.free, tile.x, tile.y, tile.width, tile.height);
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
  return tile.nodes.length === 1 && (tile.width >= SINGLE_PODS || (scene.emphasis !== null && scene.emphasis.roles.size > 0 && scene.emphasis.nodes.has(tile.nodes[0])));
}

function drawLabel(pen, scene, tile) {
  pen.font = `11px ${scene.colours.font}`;
  pen.fillStyle = scene.colours.muted;
  pen.textBaseline = "alphabetic";
  const name = tile.nodes[0];
  const fits = pen.measureText(name).width <= tile.width + 4;
  // The end of a name tells nodes of one pool apart.
  pen.fillText(fits ? name : `…${name.slice(-Math.floor(tile.width / 7))}`, tile.x, tile.y + tile.height + 14, tile.width + 4);
  drawComing(pen, scene, tile, pen.measureText(name).width + 8);
}

/** Beside the node's name: the pod that is to come, or how many. */
function drawComing(pen, scene, tile, from) {
  const coming = [...scene.picture.nominatedTo(tile.nodes[0])];
  if (!coming.length) return;
  const words = coming.length === 1 ? coming[0].key.slice(coming[0].key.indexOf("/") + 1) : `${coming.length} pods`;
  if (from + pen.measureText(`◌ ${words}`).width > tile.width + 4) return;
  pen.fillStyle = scene.colours.nominated;
  pen.fillText(`◌ ${words}`, tile.x + from, tile.y + tile.height + 14);
}

/** Erases a tile with the ring that a cursor may have drawn around it. */
export function eraseTile(pen, tile, gap) {
  const rim = Math.min(3, gap / 2);
  pen.clearRect(tile.x - rim, tile.y - rim, tile.width + 2 * rim, tile.height + 2 * rim + labelOf(tile.width));
}

export function drawRing(pen, tile, colour, gap) {
  const out = Math.min(2.5, gap / 2);
  pen.strokeStyle = colour;
  pen.lineWidth = Math.min(2, gap - 0.5);
  pen.strokeRect(tile.x - out + 0.5, tile.y - out + 0.5, tile.width + 2 * out - 1, tile.height + 2 * out - 1);
}

/** What a tile has beside its bands. */
function drawSigns(pen, scene, tile) {
  const { picture, emphasis } = scene;
  let isComing = false;
  for (const name of tile.nodes) {
    const node = picture.nodes.get(name);
    if (node === undefined) continue;
    if (hasBlocks(scene, tile)) {
      const row = scene.rowOf(node);
      drawBlocks(pen, scene, tile, blocksOf(picture.podsOn(name), row, node.allocatable[row]));
    }
    if (emphasis?.near && tile.nodes.length === 1) drawNear(pen, scene, tile, node, emphasis.near);
    if ((!node.ready || node.cordoned) && tile.nodes.length === 1) drawClosed(pen, scene, tile, node);
    isComing ||= emphasis === null ? picture.nominatedTo(name).size > 0 : emphasis.placed.has(name);
  }
  if (isComing) drawNominated(pen, scene, tile);
  if (labelOf(tile.width)) drawLabel(pen, scene, tile);
}

/** One block for each pod, from the bottom up. */
function drawBlocks(pen, scene, tile, blocks) {
  const { x, y, width: size } = tile;
  const seam = size >= SINGLE_PODS ? 1 : 0;
  const alpha = pen.globalAlpha;
  const hasNames = size >= NAMED && blocks.length * (LINE + seam) <= tile.height;
  const heights = heightsOf(blocks.map(({ share }) => share), tile.height, hasNames ? LINE + seam : SEEN);
  let filled = 0;
  for (const [index, { pod }] of blocks.entries()) {
    const bottom = y + tile.height - Math.round(filled);
    filled = Math.min(tile.height, filled + heights[index]);
    const top = y + tile.height - Math.round(filled);
    const height = Math.max(1, bottom - top - seam);
    const role = scene.emphasis?.roles.get(pod.uid);
    pen.globalAlpha = scene.emphasis !== null && scene.emphasis.roles.size > 0 && role === undefined ? alpha * 0.35 : alpha;
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
  pen.fillStyle = hatched ? scene.colours.ink : scene.colours.onLevels[scene.scale.of(pod.priority)];
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
  const nodes = tile.nodes.map((name) => picture.nodes.get(name)).filter(Boolean);
  if (!nodes.length) return;
  const row = scene.rowOf(nodes[0]);
  let total = 0;
  for (const node of nodes) {
    total += node.allocatable[row] ?? 0;
    sumsOf(picture.podsOn(node.name), row, scale, sums);
  }
  if (!(total > 0)) return;
  const { x, y, width, height } = tile;
  let [filled, bottom] = [0, 0];
  const band = (held, colour) => {
    if (!(held > 0) || bottom >= height) return;
    filled = Math.min(1, filled + held / total);
    const top = Math.max(bottom + 1, Math.round(filled * height));
    fill(fills, colour, x, y + height - top, width, top - bottom);
    bottom = top;
  };
  for (let level = LEVELS - 1; level >= 0; level--) band(sums.levels[level], colours.levels[level]);
  band(sums.marked + sums.leaving, colours.leaving);
}

/** A dashed frame: pods are to come. */
function drawNominated(pen, scene, tile) {
  pen.strokeStyle = scene.colours.nominated;
  pen.lineWidth = tile.width >= SIGNS ? 2 : 1;
  pen.setLineDash(tile.width >= SIGNS ? [4, 3] : [2, 1]);
  const inset = pen.lineWidth / 2;
  pen.strokeRect(tile.x + inset, tile.y + inset, tile.width - 2 * inset, tile.height - 2 * inset);
  pen.setLineDash([]);
}

/** How near it is to fitting: what is needed, as a bracket from the top down, and in words what is missing. */
function drawNear(pen, scene, tile, node, near) {
  const found = near.nodes.get(node.name);
  if (found === undefined) return;
  const { x, y, width, height } = tile;
  pen.fillStyle = scene.colours.nominated;
  if (found.needs !== null) pen.fillRect(x + width - 3, y, 3, Math.round(Math.min(1, found.needs) * height));
  if (found.needs !== null && found.needs <= 1) pen.fillRect(x, y + Math.round(found.needs * height) - 1, width, 1);
  if (near.nearest === node.name) drawRing(pen, tile, scene.colours.nominated, 8);
  if (width < NAMED) return;
  pen.font = `600 11px ${scene.colours.font}`;
  pen.textBaseline = "middle";
  pen.fillStyle = scene.colours.panel;
  pen.fillRect(x + 4, y + 4, Math.min(width - 12, pen.measureText(found.words).width + 8), 16);
  pen.fillStyle = scene.colours.ink;
  pen.fillText(found.words, x + 8, y + 12.5, width - 20);
}

/** Cordoned: a bar across the top. Not ready: a cross over all of it. */
function drawClosed(pen, scene, tile, node) {
  const { x, y, width: size, height } = tile;
  if (node.ready) {
    pen.fillStyle = scene.colours.ink;
    pen.fillRect(x, y, size, Math.max(1, Math.round(size / 16)));
    return;
  }
  pen.beginPath();
  pen.moveTo(x + 1, y + 1);
  pen.lineTo(x + size - 1, y + height - 1);
  pen.moveTo(x + size - 1, y + 1);
  pen.lineTo(x + 1, y + height - 1);
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
