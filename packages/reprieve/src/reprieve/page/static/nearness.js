// It does not fit: how near is each node? Pure.

import { usage } from "./bands.js";
import { amount } from "./words.js";

const MEBIBYTE = 1 << 20;

/**
 * @typedef {{words: string, needs: number | null}} NearNode needs: the share of the node that a pod needs, where it is known
 * @typedef {{nodes: Map<string, NearNode>, nearest: string, row: number}} Nearness row: the resource that is missing, or -1
 *
 * @param {import("./picture.js").Picture} picture
 * @param {{miss?: object | null, excluded?: {name: string, because: {text: string}}[]}} told of a what-if or a decision
 * @returns {Nearness | null}
 */
export function nearness(picture, { miss = null, excluded = [] }) {
  if (miss === null && !excluded.length) return null;
  const reasons = new Map(excluded.map(({ name, because }) => [name, because.text.replace(/^it (is|has) /, "")]));
  const row = miss === null || !miss.resource ? -1 : picture.resources.indexOf(miss.resource);
  const needed = row < 0 ? null : neededFor(picture, miss, row);
  const nodes = new Map();
  for (const node of picture.nodes.values()) {
    const words = wordsFor(picture, node, { miss, row, needed, reason: reasons.get(node.name) ?? "" });
    if (words) nodes.set(node.name, { words, needs: needed === null ? null : needed / node.allocatable[row] });
  }
  return { nodes, nearest: miss?.node ?? "", row };
}

/** What the pod needs: it is known, or follows from what it is short of where no pod of its group is placed before it. */
function neededFor(picture, miss, row) {
  const pod = picture.pods.get(miss.pod.uid);
  if (pod !== undefined) return pod.requests[row];
  const node = picture.nodes.get(miss.node);
  if (miss.placed > 0 || node === undefined) return null;
  const per = miss.resource === "memory" ? MEBIBYTE : 1;
  return freeOn(picture, node, row) + Math.ceil((miss.short - miss.kept) / per);
}

function wordsFor(picture, node, { miss, row, needed, reason }) {
  if (needed === null) return node.name === miss?.node ? `nearest: ${miss.because.text}` : reason;
  const missing = needed - freeOn(picture, node, row);
  if (needed > node.allocatable[row]) return `too small by ${amount(miss.resource, needed - node.allocatable[row])}`;
  return missing > 0 ? `short of ${amount(miss.resource, missing)}` : reason || "refused for another reason";
}

function freeOn(picture, node, row) {
  const { held, offered } = usage(picture, [node])[row];
  return offered - held;
}
