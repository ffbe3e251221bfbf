// Which pods stand out, and as what? A selection lights up pods and dims every other tile. Pure.

export const VICTIM = "victim", SPARED = "spared", MEMBER = "member";

/**
 * @typedef {{title: string, roles: Map<string, string>, placed: Map<string, number>, nodes: Set<string>,
 *   near: import("./nearness.js").Nearness | null}} Emphasis
 *   roles by pod UID; placed: pods to come, by node; nodes: those that are not dimmed
 */

/** @returns {Emphasis} */
export function emphasis(title, picture, { victims = [], spared = [], members = [], placements = [], nodes = [], near = null }) {
  const roles = new Map();
  const lit = new Set(nodes);
  const placed = new Map();
  for (const [role, uids] of [[MEMBER, members], [SPARED, spared], [VICTIM, victims]]) {
    for (const uid of uids) {
      roles.set(uid, role);
      const pod = picture.pods.get(uid);
      if (pod?.node) lit.add(pod.node);
      if (pod?.nominated) lit.add(pod.nominated);
    }
  }
  for (const { node } of placements) {
    if (!node) continue;
    lit.add(node);
    placed.set(node, (placed.get(node) ?? 0) + 1);
  }
  // Where nothing is lit, all of it stays readable.
  return { title, roles, placed, nodes: lit.size ? lit : new Set(picture.nodes.keys()), near };
}
