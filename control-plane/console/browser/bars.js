// @ts-check
/** The bars of a running apply: those in progress stay in view. */

/** Where the list of each job was put. @type {WeakMap<Element, number>} */
const places = new WeakMap();

/** Scrolls the list of bars, where it has a height of its own, unless the reader has scrolled it. */
export function showRunning() {
  const bars = document.querySelector("#resources .bars");
  if (!bars || Math.abs(bars.scrollTop - (places.get(bars) ?? 0)) > 2) return;
  const last = [...bars.querySelectorAll("li.open")].at(-1);
  if (!last) return;
  const below = last.getBoundingClientRect().bottom - bars.getBoundingClientRect().bottom;
  if (below > 0) bars.scrollTop += Math.ceil(below);
  places.set(bars, bars.scrollTop);
}
