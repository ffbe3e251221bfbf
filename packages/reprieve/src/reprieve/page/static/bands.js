// What fills a node? Bands by priority, most important at the bottom, and the room that is free. Pure.

import { DONE, LEAVING, MARKED } from "./words.js";

export const LEVELS = 6;
export const AUTOMATIC = "automatic";
const STEADY = 0.05; // by so much another resource must be used more before it is shown instead

/**
 * Maps priorities to levels 0 (lowest) to 5. Those that have a level keep it: a colour means the same while classes come.
 * @param {number[]} priorities distinct, lowest first
 * @param {Map<number, number>} [known] the levels of earlier ones
 * @returns {{of: (priority: number) => number, levels: Map<number, number>, legend: {level: number, from: number, to: number}[]}}
 */
export function scaleOf(priorities, known = new Map()) {
  const levels = known.size ? new Map(known) : spread(priorities);
  for (const priority of priorities) if (!levels.has(priority)) levels.set(priority, between(priority, levels));
  const legend = [];
  for (const priority of priorities) {
    const level = levels.get(priority);
    const end = legend.at(-1);
    if (end !== undefined && end.level === level) end.to = priority;
    else legend.push({ level, from: priority, to: priority });
  }
  return { of: (priority) => levels.get(priority) ?? 0, levels, legend };
}

/** A few leave the lowest and the highest level to those that may come. */
function spread(priorities) {
  const [low, high] = priorities.length < LEVELS - 1 ? [1, LEVELS - 2] : [0, LEVELS - 1];
  const last = Math.max(1, priorities.length - 1);
  return new Map(priorities.map((priority, rank) => [priority, Math.round(low + (rank * (high - low)) / last)]));
}

/** Halfway between the levels of its neighbours. */
function between(priority, levels) {
  let [low, high] = [null, null];
  for (const [other, level] of levels) {
    if (other < priority) low = Math.max(low ?? 0, level);
    else high = Math.min(high ?? LEVELS, level);
  }
  if (low === null) return Math.floor((high ?? 1) / 2);
  return high === null ? Math.ceil((low + LEVELS - 1) / 2) : Math.floor((low + high) / 2);
}

/**
 * The row of the resource to show for the nodes of each pool: the chosen one, or one that is used: a device if any is,
 * else cpu or memory.
 * @param {import("./picture.js").Picture} picture
 * @param {Map<string, number>} before what was shown last
 * @returns {Map<string, number>}
 */
export function shownRows(picture, chosen, before = new Map()) {
  if (chosen !== AUTOMATIC) {
    const row = Math.max(0, picture.resources.indexOf(chosen));
    return new Map([...picture.nodes.values()].map(({ pool }) => [pool, row]));
  }
  const pools = new Map();
  for (const node of picture.nodes.values()) {
    if (!pools.has(node.pool)) pools.set(node.pool, []);
    pools.get(node.pool).push(node);
  }
  return new Map([...pools].map(([pool, nodes]) => [pool, rowInUse(picture, nodes, before.get(pool))]));
}

function rowInUse(picture, nodes, before) {
  const shares = usage(picture, nodes).map(({ held, offered }) => (offered > 0 ? held / offered : 0));
  const isDevice = (row) => picture.resources[row] !== "cpu" && picture.resources[row] !== "memory";
  const used = shares.map((_, row) => row).filter((row) => shares[row] > 0);
  const devices = used.filter(isDevice);
  const among = devices.length ? devices : used;
  if (!among.length) return before ?? Math.max(0, picture.resources.indexOf("cpu"));
  const most = among.reduce((best, row) => (shares[row] > shares[best] ? row : best));
  return among.includes(before) && shares[before] + STEADY >= shares[most] ? before : most;
}

/**
 * @typedef {{pod: import("./picture.js").Pod, share: number}} Block
 * @returns {Block[]} the pods that are there, most important first; some may hold nothing of the resource
 */
export function blocksOf(pods, row, total) {
  const blocks = [];
  for (const pod of pods) {
    if (pod.state !== DONE) blocks.push({ pod, share: total > 0 ? (pod.requests[row] ?? 0) / total : 0 });
  }
  return blocks.sort((a, b) => b.pod.priority - a.pod.priority || (a.pod.key < b.pod.key ? -1 : 1));
}

/**
 * Shares as heights: none is lower than `line`, or than its part of the tile where there are too many for that. The free
 * room gives way first, the largest blocks next.
 * @param {number[]} shares @param {number} line what a block needs to be seen, or to have its name
 * @returns {number[]}
 */
export function heightsOf(shares, size, line) {
  const free = Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0)) * size;
  const room = size - Math.min(free, size / 10);
  const least = Math.min(line, room / Math.max(1, shares.length));
  const heights = shares.map((share) => Math.max(least, share * size));
  const beyond = heights.reduce((sum, height) => sum + height, 0) - room;
  if (beyond <= 0) return heights;
  const above = heights.reduce((sum, height) => sum + height - least, 0);
  return heights.map((height) => height - (above > 0 ? (beyond * (height - least)) / above : 0));
}

/**
 * Adds up how much of a resource is held at each level, and by pods that leave.
 * @param {{levels: Float64Array, leaving: number, marked: number}} into amounts
 */
export function sumsOf(pods, row, scale, into) {
  for (const pod of pods) {
    if (pod.state === DONE) continue;
    const held = Math.max(pod.requests[row] ?? 0, Number.MIN_VALUE); // it holds nothing of this one, and is seen
    if (pod.state === LEAVING) into.leaving += held;
    else if (pod.state === MARKED) into.marked += held;
    else into.levels[scale.of(pod.priority)] += held;
  }
}

/** Held and offered amounts of each resource on the nodes that are given. */
export function usage(picture, nodes) {
  const sums = picture.resources.map(() => ({ held: 0, offered: 0 }));
  for (const node of nodes) {
    sums.forEach((sum, row) => { sum.offered += node.allocatable[row] ?? 0; });
    for (const pod of picture.podsOn(node.name)) {
      if (pod.state !== DONE) sums.forEach((sum, row) => { sum.held += pod.requests[row] ?? 0; });
    }
  }
  return sums;
}
