// Light or dark? As the system has it, until the button says otherwise; the choice stays in this browser.

const KEPT = "reprieve-theme";
const NEXT = { system: "dark", dark: "light", light: "system" };
const SIGNS = { system: "◐", dark: "●", light: "○" };

/** @param {HTMLButtonElement} button @param {() => void} changed */
export function theme(button, changed) {
  const show = (chosen) => {
    if (chosen === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    button.textContent = SIGNS[chosen];
    button.setAttribute("aria-label", `Theme: ${chosen}`);
    button.title = `Theme: ${chosen}`;
    changed();
  };
  const toggle = () => {
    const chosen = NEXT[localStorage.getItem(KEPT) ?? "system"] ?? "system";
    localStorage.setItem(KEPT, chosen);
    show(chosen);
  };
  button.addEventListener("click", toggle);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  const kept = localStorage.getItem(KEPT);
  show(kept in NEXT ? kept : "system");
  return toggle;
}
