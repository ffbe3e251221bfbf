// How are elements made? Text always becomes text: a name can never become markup.

import { number } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] functions listen (`onclick`), null and false are left out
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same, for drawings. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter(isShown).map(asNode));
  return element;
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false && child !== "";
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/** A number that says what it is. */
export function priorityLabel(value) {
  return h("span", { class: "priority" }, h("small", {}, "priority "), number(value));
}

/** A table that scrolls by itself where it is wider than what holds it. */
export function wide(table) {
  return h("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Table" }, table);
}

/** Tells whatever listens above the element. */
export function tell(element, type, detail) {
  element.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));
}

/** Changes text only where it differs, so that a screen reader is not told twice. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Makes the children of an element those of the wanted items, in their order. An element that stays is
 * kept, and with it the focus.
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T, element: HTMLElement | null) => HTMLElement} make updates the element that there is, or makes one
 */
export function keyed(parent, items, keyOf, make) {
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let next = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const old = there.get(key) ?? null;
    const element = make(item, old);
    element.dataset.key = key;
    there.delete(key);
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
    if (old && old !== element) {
      if (old === next) next = next.nextElementSibling;
      old.remove();
    }
  }
  for (const gone of there.values()) gone.remove();
}
