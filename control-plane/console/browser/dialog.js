// @ts-check
/** Elements and dialogs that only scripts need. */

/**
 * Makes an element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} name
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} content
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes))
    element.setAttribute(attribute, value);
  element.append(...content);
  return element;
}

/**
 * Opens a dialog with this content, and removes it when it is closed: by Esc, or by a click beside
 * it. @param {string} label @param {...Node} content
 */
export function openDialog(label, ...content) {
  const dialog = make("dialog", { "aria-label": label }, ...content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
