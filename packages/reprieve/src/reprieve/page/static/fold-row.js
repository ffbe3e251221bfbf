// How does a line look that stands for many? It says what they have in common, and opens to show them.

import { h, keyed } from "./dom.js";
import { number } from "./words.js";

const MOST_INSIDE = 100;

/**
 * @template T
 * @param {HTMLElement | null} there the row as it was
 * @param {{items: T[], open: boolean, head: Node[], toggle: () => void, keyOf: (item: T) => string, row: (item: T, there: HTMLElement | null) => HTMLElement}} shown
 */
export function foldRow(there, { items, open, head, toggle, keyOf, row }) {
  const made = there ?? h("li", { class: "fold" }, h("button", { type: "button" }), h("ol"), h("p", { class: "note" }));
  const [button, inside, rest] = made.children;
  button.setAttribute("aria-expanded", String(open));
  button.onclick = toggle;
  button.replaceChildren(...head);
  inside.hidden = !open;
  keyed(inside, open ? items.slice(0, MOST_INSIDE) : [], keyOf, row);
  rest.hidden = !open || items.length <= MOST_INSIDE;
  rest.textContent = `and ${number(items.length - MOST_INSIDE)} more`;
  return made;
}
