// @ts-check
/** The bars of an apply: those in progress stay in view, and the one looked at shows its log line. */

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

/** The link of the bar that is focused or below the pointer. */
const looked = () =>
  document.querySelector(".bars li:hover > a") ?? document.querySelector(".bars li > a:focus");

/** The last log line of the bar that is looked at, below all. */
function showLine() {
  const link = looked();
  const bars = link?.closest(".bars");
  const log = /** @type {HTMLElement & { lineAt(hash: string): string } | null} */ (
    document.querySelector("windlass-log")
  );
  const text = log?.lineAt(link?.getAttribute("href") ?? "") ?? "";
  const shown = document.querySelector(".log-line");
  if (!bars || text === "") return shown?.remove();
  const line = shown ?? document.createElement("p");
  line.className = "log-line";
  line.textContent = text;
  if (!shown) bars.append(line);
}

for (const event of ["mouseover", "focusin", "focusout", "drawn"])
  document.addEventListener(event, showLine);
