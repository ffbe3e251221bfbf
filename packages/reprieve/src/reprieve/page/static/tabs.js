// Which of several panels is shown? Tabs as the ARIA practices have them: arrow keys move, one tab stop.

/**
 * @param {HTMLElement} list with role tablist; its tabs name their panels in aria-controls
 * @param {(panel: string) => void} [chosen]
 * @returns {(panel: string) => void} shows a panel by its id
 */
export function tabs(list, chosen = () => {}) {
  const all = () => [...list.querySelectorAll('[role="tab"]:not([hidden])')];
  const show = (panel) => {
    for (const tab of list.querySelectorAll('[role="tab"]')) {
      const is = tab.getAttribute("aria-controls") === panel;
      tab.setAttribute("aria-selected", String(is));
      tab.tabIndex = is ? 0 : -1;
      const controlled = document.getElementById(tab.getAttribute("aria-controls"));
      if (controlled !== null) controlled.hidden = !is;
    }
    chosen(panel);
  };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab !== null) show(tab.getAttribute("aria-controls"));
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const tab = event.target.closest('[role="tab"]');
    if (step === undefined || tab === null) return;
    const found = all();
    const next = found[(found.indexOf(tab) + step + found.length) % found.length];
    show(next.getAttribute("aria-controls"));
    next.focus();
    event.preventDefault();
  });
  return show;
}
