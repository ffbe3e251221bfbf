// How is the cluster, in a few numbers? The line at the top.

import { usage } from "./bands.js";
import { h } from "./dom.js";
import { isLeaving } from "./picture.js";
import { number, percent, shortResource } from "./words.js";

/** @param {import("./picture.js").Picture} picture */
export function numbersOf(picture) {
  const shares = usage(picture, picture.nodes.values())
    .map(({ held, offered }, row) => ({ name: shortResource(picture.resources[row]), share: offered > 0 ? held / offered : null }))
    .filter(({ share }) => share !== null);
  let leaving = 0;
  for (const pod of picture.pods.values()) if (isLeaving(pod)) leaving += 1;
  return [
    ...shares.map(({ name, share }) => [name, percent(share)]),
    ["nodes", number(picture.nodes.size)],
    ["pods", number(picture.pods.size)],
    ["pending", number(picture.pending.size)],
    ["leaving", number(leaving)],
  ];
}

export function showNumbers(list, picture) {
  const numbers = numbersOf(picture);
  if (list.children.length !== numbers.length) {
    list.replaceChildren(...numbers.map(() => h("div", {}, h("dt"), h("dd"))));
  }
  numbers.forEach(([name, value], index) => {
    const [term, shown] = list.children[index].children;
    if (term.textContent !== name) term.textContent = name;
    if (shown.textContent !== value) shown.textContent = value;
    list.children[index].dataset.name = name;
  });
}
