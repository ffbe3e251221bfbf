// What waits? Pending pods, gathered by group. Pure.

/**
 * @typedef {{key: string, group: boolean, priority: number, pods: import("./picture.js").Pod[], reason: string | null, nominated: string[]}} Waiting
 * @returns {Waiting[]} the most important first
 */
export function waiting(picture) {
  const found = new Map();
  for (const pod of picture.pending) {
    const key = pod.group ?? pod.uid;
    if (!found.has(key)) {
      found.set(key, { key: pod.group ?? pod.key, group: pod.group !== null, priority: pod.priority, pods: [], reason: null, nominated: new Set() });
    }
    const one = found.get(key);
    one.pods.push(pod);
    one.priority = Math.max(one.priority, pod.priority);
    one.reason ??= pod.reason;
    if (pod.nominated !== null) one.nominated.add(pod.nominated);
  }
  return [...found.values()]
    .map((one) => ({ ...one, nominated: [...one.nominated] }))
    .sort((a, b) => b.priority - a.priority || b.pods.length - a.pods.length || (String(a.key) < String(b.key) ? -1 : 1));
}
