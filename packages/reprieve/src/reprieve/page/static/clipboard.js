// How does text get into the clipboard? Where the browser forbids it, the text is shown, selected, to be copied by hand.

import { h } from "./dom.js";

/** A word of a command for a shell: names in a file of unknown origin may be anything. */
export const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** A button that copies what `text` gives when it is pressed, and says so. */
export function copyButton(label, text) {
  const button = h("button", { type: "button", class: "copy", title: "To the clipboard" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      const field = h("textarea", { class: "by-hand", readonly: true, "aria-label": `${label}: press Ctrl+C` });
      field.value = text();
      field.addEventListener("blur", () => field.remove());
      button.after(field);
      field.select();
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}
