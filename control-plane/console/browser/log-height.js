// @ts-check
/** The height of a log that grows: its newest line is within the window. */

/** Five lines, in pixels. With less room the log fills the window below the top of its panel. */
const least = 100;
/** Pixels between the text below the log and the end of the window. */
const gap = 8;

/**
 * Fits the box of the lines to the window as it is before the page is scrolled. `said`: the text
 * below the box.
 * @param {HTMLElement} box
 * @param {HTMLElement} said
 */
export function fitToWindow(box, said) {
  const { top, bottom, height } = box.getBoundingClientRect();
  // A box without lines is hidden.
  if (height === 0) return;
  const below = said.getBoundingClientRect().bottom - bottom + gap;
  const room = innerHeight - (top + scrollY) - below;
  const title = document.querySelector("#log")?.getBoundingClientRect().top ?? top;
  const fitting = room < least ? innerHeight - (top - title) - below : room;
  box.style.setProperty("--log-height", `${Math.floor(Math.max(fitting, least))}px`);
}
