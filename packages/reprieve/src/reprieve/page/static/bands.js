// What fills a node? Bands by priority, most important at the bottom, and the room that is free. Pure.

import { DONE, LEAVING, MARKED } from "./words.js";

export const LEVELS = 6;
export const SCARCEST = "scarcest";

/**
 * Maps priorities to levels 0 (lowest) to 5, evenly over the priorities that there are.
 * @param {number[]} priorities distinct, lowest first
 * @returns {{of: (priority: number) => number, legend: {level: number, from: number, to: number}[]}}
 */
export function scaleOf(priorities) {
  const levels = new Map();
  const last = Math.max(1, priorities.length - 1);
  priorities.forEach((priority, rank) => levels.set(priority, Math.round((rank * (LEVELS - 1)) / last)));
  const legend = [];
  for (const [priority, level] of levels) {
    const end = legend.at(-1);
    if (end !== undefined && end.level === level) end.to = priority;
    else legend.push({ level, from: priority, to: priority });
  }
  return { of: (priority) => levels.get(priority) ?? 0, legend };
}

/**
 * The row of the resource to show: the chosen one, or an accelerator if the node has any, else cpu.
 * @param {string[]} resources
 * @param {number[]} allocatable
 */
export function shownResource(resources, allocatable, chosen) {
  if (chosen !== SCARCEST) return resources.indexOf(chosen);
  const special = resources.findIndex((name, row) => name !== "cpu" && name !== "memory" && allocatable[row] > 0);
  return special >= 0 ? special : Math.max(0, resources.indexOf("cpu"));
}

/**
 * @typedef {{pod: import("./picture.js").Pod, share: number}} Block
 * @returns {Block[]} pods that hold some of the resource, most important first
 */
export function blocksOf(pods, row, total) {
  const blocks = [];
  if (!(total > 0)) return blocks;
  for (const pod of pods) {
    const share = pod.requests[row] / total;
    if (share > 0 && pod.state !== DONE) blocks.push({ pod, share });
  }
  return blocks.sort((a, b) => b.pod.priority - a.pod.priority || (a.pod.key < b.pod.key ? -1 : 1));
}

/**
 * Adds up how much of a resource is held at each level, and by pods that leave.
 * @param {{levels: Float64Array, leaving: number, marked: number}} into amounts
 */
export function sumsOf(pods, row, scale, into) {
  for (const pod of pods) {
    const held = pod.requests[row];
    if (!(held > 0) || pod.state === DONE) continue;
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
