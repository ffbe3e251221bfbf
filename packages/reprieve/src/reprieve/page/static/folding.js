// Which of many lines say the same? Those of one workload with one reason are folded into one. Pure.

const RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"; // what Kubernetes makes suffixes from
const SUFFIXES = [new RegExp(`-${RANDOM}{5}$`), new RegExp(`-${RANDOM}{8,10}$`), /-\d+$/];

/** What made it, by its name: "ns/web-7c5ddbdf54-x2x9z" and "ns/web-3" are of "ns/web". It may be gone, and its owner with it. */
export function workloadOf(key) {
  return SUFFIXES.reduce((name, suffix) => name.replace(suffix, ""), key);
}

/** A reason without its numbers: those change all the time. */
const gist = (reason) => (reason ?? "").replace(/\d[\d.,]*/g, "#");

/**
 * @template T
 * @typedef {{key: string, workload: string, items: T[]}} Fold
 *
 * @template T
 * @param {T[]} items
 * @param {(item: T) => {key: string, reason: string | null, kind?: unknown}} told items of another kind are never folded together
 * @returns {Fold<T>[]} in the order of the first of each
 */
export function folded(items, told) {
  const folds = new Map();
  for (const item of items) {
    const { key, reason, kind = "" } = told(item);
    const workload = workloadOf(key);
    const same = JSON.stringify([workload, gist(reason), kind]);
    if (!folds.has(same)) folds.set(same, { key: same, workload, items: [] });
    folds.get(same).items.push(item);
  }
  return [...folds.values()];
}
