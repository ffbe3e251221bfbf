// Which of many rows does Tab stop at? One; arrow keys move between them. So a long list is one stop, and not a hundred.

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/**
 * @param {HTMLElement} container
 * @param {string} selector of what can have the focus
 * @returns {() => void} to be called after rows came or went
 */
export function roving(container, selector) {
  const settle = (chosen = null) => {
    const all = [...container.querySelectorAll(selector)];
    const stop = chosen ?? all.find((one) => one.dataset.stop !== undefined) ?? all[0];
    for (const one of all) {
      one.tabIndex = one === stop ? 0 : -1;
      if (one === stop) one.dataset.stop = "";
      else delete one.dataset.stop;
    }
  };
  container.addEventListener("focusin", (event) => {
    const chosen = event.target.closest(selector);
    if (chosen !== null) settle(chosen);
  });
  container.addEventListener("keydown", (event) => {
    const at = event.target.closest(selector);
    if (at === null || !(event.key in STEPS || event.key === "Home" || event.key === "End")) return;
    const all = [...container.querySelectorAll(selector)];
    const next = event.key === "Home" ? all[0] : event.key === "End" ? all.at(-1) : all[all.indexOf(at) + STEPS[event.key]];
    event.preventDefault();
    next?.focus();
  });
  return settle;
}
