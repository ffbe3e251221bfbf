// What waits? Pending pods, gathered by what is scheduled as one: a group, or a tree of groups. Pure.

import { rootOf } from "./picture.js";

/**
 * @typedef {{key: string, group: boolean, priority: number, pods: import("./picture.js").Pod[], reason: string | null, nominated: string[],
 *   parts: [string, number][]}} Waiting
 *   parts: the PodGroups of a tree, and how many pods of each wait
 * @returns {Waiting[]} the most important first
 */
export function waiting(picture) {
  const found = new Map();
  for (const pod of picture.pending) {
    const root = pod.group === null ? null : rootOf(picture, pod.group);
    const key = root ?? pod.uid;
    if (!found.has(key)) {
      found.set(key, { key: root ?? pod.key, group: root !== null, priority: pod.priority, pods: [], reason: null, nominated: new Set(), parts: new Map() });
    }
    const one = found.get(key);
    one.pods.push(pod);
    if (root !== pod.group) one.parts.set(pod.group, (one.parts.get(pod.group) ?? 0) + 1);
    one.priority = Math.max(one.priority, pod.priority);
    one.reason ??= pod.reason;
    if (pod.nominated !== null) one.nominated.add(pod.nominated);
  }
  return [...found.values()]
    .map((one) => ({ ...one, nominated: [...one.nominated], parts: [...one.parts].sort() }))
    .sort((a, b) => b.priority - a.priority || b.pods.length - a.pods.length || (String(a.key) < String(b.key) ? -1 : 1));
}
