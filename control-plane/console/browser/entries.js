// @ts-check
/** Keeps what the reader has entered into forms while the page around them is drawn again. */

/** @typedef {HTMLInputElement | HTMLTextAreaElement} Field */

/**
 * Redraws a part of the page, then enters again what its fields had: those with the same name in a
 * form of the same action. What holds them is opened.
 * @param {Element} part @param {() => void} redraw
 */
export function keepEntries(part, redraw) {
  const entered = fieldsIn(part).filter((field) => entryOf(field) !== defaultOf(field));
  const entries = new Map(entered.map((field) => [keyOf(field), entryOf(field)]));
  const { activeElement: focused } = document;
  const focusedKey = entered.filter((field) => field === focused).map(keyOf)[0];
  redraw();
  for (const field of fieldsIn(part)) {
    const key = keyOf(field);
    const entry = entries.get(key);
    // Without an entry, it may have been drawn over a field of another form that had one.
    enter(field, entry ?? defaultOf(field));
    if (entry === undefined) continue;
    field.closest("details:not([open])")?.setAttribute("open", "");
    if (key === focusedKey && field !== document.activeElement) field.focus();
  }
}

/** @param {Element} part @returns {Field[]} */
const fieldsIn = (part) =>
  [...part.querySelectorAll("form :is(input:not([type=hidden], [type=file]), textarea)")].map(
    (field) => /** @type {Field} */ (field),
  );

/** @param {Field} field @returns {string | boolean} */
const entryOf = (field) => (isTicked(field) ? field.checked : field.value);

/** @param {Field} field @returns {string | boolean} */
const defaultOf = (field) => (isTicked(field) ? field.defaultChecked : field.defaultValue);

/** @param {Field} field @param {string | boolean} entry */
function enter(field, entry) {
  if (entryOf(field) === entry) return;
  if (isTicked(field)) field.checked = entry === true;
  else field.value = String(entry);
}

/** @param {Field} field @returns {field is HTMLInputElement} */
const isTicked = (field) => field.type === "checkbox" || field.type === "radio";

/** @param {Field} field */
function keyOf(field) {
  // Forms of one action differ in a hidden field, such as the type of a job. `seen` changes.
  const hidden = field.form?.querySelector("input[type=hidden]:not([name=seen])");
  const choice = isTicked(field) ? field.value : "";
  const action = field.form?.getAttribute("action");
  return [action, hidden?.getAttribute("value"), field.name, choice].join("\n");
}
