// What does the page know of the cluster? A keyframe starts it, changes continue it. No DOM, no network.

import { LEAVING, MARKED, PENDING } from "./words.js";

/**
 * @typedef {{name: string, pool: string, zone: string, ready: boolean, cordoned: boolean, allocatable: number[],
 *   taints: string[]}} ClusterNode
 * @typedef {{key: string, uid: string, node: string | null, priority: number, group: string | null, requests: number[],
 *   state: number, nominated: string | null, reason: string | null, since: number | null}} Pod
 *   since: when the page saw the state begin; null if it had begun before
 * @typedef {{key: string, priority: number, minCount: number, mode: string, parent: string | null}} Group
 */

/** What a message changed. `nodes` are names of tiles to draw; `layout`: nodes came, went, or moved to another pool. */
export class Changed {
  nodes = new Set();
  decisions = new Set();
  layout = false;
  pending = false;
  priorities = false;
}

const MOST_DECISIONS = 2_000; // a page may stay open for days
const NONE = new Set();

export class Picture {
  /** @type {Map<string, ClusterNode>} */ nodes = new Map();
  /** @type {Map<string, Pod>} */ pods = new Map();
  /** @type {Map<string, Group>} */ groups = new Map();
  /** @type {Map<string, object>} oldest first */ decisions = new Map();
  /** @type {Set<Pod>} */ pending = new Set();
  #byNode = new Map();
  #nominatedTo = new Map();
  #byGroup = new Map();
  #byKey = null; // made when it is asked for: few pages ever need it
  #priorities = new Map();

  constructor(keyframe) {
    this.revision = keyframe.revision;
    this.time = keyframe.time;
    this.knownSince = keyframe.knownSince ?? null;
    this.cluster = keyframe.cluster;
    this.mode = keyframe.mode;
    this.can = keyframe.can ?? {};
    this.resources = keyframe.resources;
    const nameOf = (index) => (index < 0 ? null : keyframe.nodes[index][0]);
    const groupOf = (index) => (index < 0 ? null : keyframe.groups[index][0]);
    const changed = new Changed();
    for (const row of keyframe.nodes) this.#node(row, changed);
    for (const row of keyframe.groups) this.#group(row);
    for (const [key, uid, node, priority, group, requests, state, nominated, reason] of keyframe.pods) {
      this.#add({ key, uid, node: nameOf(node), priority, group: groupOf(group), requests, state, nominated: nameOf(nominated), reason, since: null });
    }
    for (const decision of keyframe.decisions) this.decisions.set(decision.id, decision);
  }

  /** @returns {Changed} */
  apply(message) {
    this.revision = message.revision;
    this.time = message.time;
    this.#byKey = null;
    const changed = new Changed();
    for (const change of message.changes) this.#one(change, changed);
    return changed;
  }

  podsOn(node) {
    return this.#byNode.get(node) ?? NONE;
  }

  nominatedTo(node) {
    return this.#nominatedTo.get(node) ?? NONE;
  }

  podsOf(group) {
    return this.#byGroup.get(group) ?? NONE;
  }

  podByKey(key) {
    this.#byKey ??= new Map([...this.pods.values()].map((pod) => [pod.key, pod]));
    return this.#byKey.get(key) ?? null;
  }

  /** The distinct priorities of all pods, lowest first. */
  priorities() {
    return [...this.#priorities.keys()].sort((a, b) => a - b);
  }

  #one(change, changed) {
    if (change.pod) this.#pod(change.pod, changed);
    else if (change.podGone !== undefined) this.#podGone(change.podGone, changed);
    else if (change.node) this.#node(change.node, changed);
    else if (change.nodeGone !== undefined) {
      this.nodes.delete(change.nodeGone);
      changed.layout = true;
    } else if (change.group) this.#group(change.group);
    else if (change.groupGone !== undefined) this.groups.delete(change.groupGone);
    else if (change.decision) {
      this.#decision(change.decision);
      changed.decisions.add(change.decision.id);
    }
  }

  #decision(decision) {
    this.decisions.set(decision.id, decision);
    if (this.decisions.size > MOST_DECISIONS) this.decisions.delete(this.decisions.keys().next().value);
  }

  #node([name, pool, zone, ready, cordoned, allocatable, taints = []], changed) {
    const old = this.nodes.get(name);
    this.nodes.set(name, { name, pool, zone, ready: Boolean(ready), cordoned: Boolean(cordoned), allocatable, taints });
    if (old === undefined || old.pool !== pool || old.zone !== zone) changed.layout = true;
    changed.nodes.add(name);
  }

  #group([key, priority, minCount, mode, parent]) {
    this.groups.set(key, { key, priority, minCount, mode, parent });
  }

  #pod([key, uid, node, priority, group, requests, state, nominated, reason], changed) {
    const old = this.pods.get(uid);
    const isNew = !this.#priorities.has(priority);
    const since = old !== undefined && old.state === state ? old.since : this.time;
    if (old !== undefined) this.#forget(old, changed);
    if (isNew) changed.priorities = true;
    const pod = { key, uid, node, priority, group, requests, state, nominated, reason, since };
    this.#add(pod);
    this.#touched(pod, changed);
  }

  #add(pod) {
    const { uid, priority, node, nominated, group, state } = pod;
    this.pods.set(uid, pod);
    this.#priorities.set(priority, (this.#priorities.get(priority) ?? 0) + 1);
    if (node !== null) within(this.#byNode, node).add(pod);
    if (nominated !== null) within(this.#nominatedTo, nominated).add(pod);
    if (group !== null) within(this.#byGroup, group).add(pod);
    if (state === PENDING) this.pending.add(pod);
  }

  #podGone(uid, changed) {
    const old = this.pods.get(uid);
    if (old === undefined) return;
    this.#forget(old, changed);
    this.pods.delete(uid);
  }

  #forget(pod, changed) {
    this.#byNode.get(pod.node)?.delete(pod);
    this.#nominatedTo.get(pod.nominated)?.delete(pod);
    this.#byGroup.get(pod.group)?.delete(pod);
    const left = this.#priorities.get(pod.priority) - 1;
    if (left) this.#priorities.set(pod.priority, left);
    else this.#priorities.delete(pod.priority);
    this.pending.delete(pod);
    this.#touched(pod, changed);
  }

  #touched(pod, changed) {
    if (pod.node !== null) changed.nodes.add(pod.node);
    if (pod.nominated !== null) changed.nodes.add(pod.nominated);
    if (pod.state === PENDING) changed.pending = true;
  }
}

function within(map, key) {
  let found = map.get(key);
  if (found === undefined) map.set(key, (found = new Set()));
  return found;
}

/** The pods of a group, and of the groups below it, each once: parents may form a circle. */
export function membersOf(picture, key, seen = new Set()) {
  if (seen.has(key)) return [];
  seen.add(key);
  const below = [...picture.groups.values()].filter(({ parent }) => parent === key);
  return [...picture.podsOf(key), ...below.flatMap((group) => membersOf(picture, group.key, seen))];
}

/** The outermost group around a group: all pods below it are scheduled as one. Parents may form a circle, or be missing. */
export function rootOf(picture, key) {
  const seen = new Set();
  for (let parent = picture.groups.get(key)?.parent; parent && !seen.has(parent); parent = picture.groups.get(parent)?.parent) {
    seen.add(parent);
    key = parent;
  }
  return key;
}

/** "CompositePodGroup ns/name" in parts; a PodGroup has no kind in its key. */
export function kindAndName(key) {
  const cut = key.indexOf(" ");
  return cut < 0 ? { isTree: false, name: key } : { isTree: true, name: key.slice(cut + 1) };
}

/** The pods of a unit as decisions name it: "PodGroup/ns/name", "CompositePodGroup/ns/name" or "Pod/ns/name". */
export function podsOfUnit(picture, unit) {
  const cut = unit.indexOf("/");
  const [kind, key] = [unit.slice(0, cut), unit.slice(cut + 1)];
  if (!key) return []; // its name is hidden, as those of others are
  if (kind === "PodGroup") return membersOf(picture, key);
  if (kind !== "Pod") return membersOf(picture, `${kind} ${key}`);
  const pod = picture.podByKey(key);
  return pod === null ? [] : [pod];
}

export const isLeaving = (pod) => pod.state === LEAVING || pod.state === MARKED;
