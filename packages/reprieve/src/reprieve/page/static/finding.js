// What has this name? Nodes, groups, pods and decisions that contain all the words. Pure.

/**
 * @typedef {{kind: "node" | "group" | "pod" | "decision", key: string, id: string, words: string}} Found
 * @param {import("./picture.js").Picture} picture
 * @returns {{found: Found[], more: boolean}}
 */
export function find(picture, text, most = 40) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  if (!words.length) return { found, more: false };
  for (const one of candidates(picture)) {
    const name = one.key.toLowerCase();
    if (!words.every((word) => name.includes(word))) continue;
    if (found.length === most) return { found, more: true };
    found.push(one);
  }
  return { found, more: false };
}

function* candidates(picture) {
  for (const { id, demand } of [...picture.decisions.values()].reverse()) {
    yield { kind: "decision", key: `${id} ${demand.key ?? ""}`, id, words: `decision for ${demand.key || "a hidden demand"}` };
  }
  for (const { name, pool } of picture.nodes.values()) yield { kind: "node", key: name, id: name, words: `node in ${pool}` };
  for (const { key, priority } of picture.groups.values()) yield { kind: "group", key, id: key, words: priority === null ? "group" : `group, priority ${priority}` };
  for (const { key, uid, node, priority } of picture.pods.values()) {
    yield { kind: "pod", key: key || uid, id: uid, words: node === null ? `pending, priority ${priority}` : `pod on ${node}, priority ${priority}` };
  }
}
