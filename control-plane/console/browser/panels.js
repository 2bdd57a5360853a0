// @ts-check
/**
 * The panels of a page, of which one is shown: the one that the address leads to, or into. A page
 * without scripts has all of them, one below the other.
 */

const panels = [...document.querySelectorAll(".panel")];
/** Lines of a log and what is searched in it have no element of their own. */
const inLog = /^#(?:[LC]\d|F)/;

/** The panel that the server shows first; it may change as the page is drawn again. */
const first = () => document.querySelector("[data-first]")?.getAttribute("data-first") ?? "";

function show() {
  const { hash } = location;
  const id = inLog.test(hash) ? "log" : hash.slice(1) || first();
  const panel = document.getElementById(id)?.closest(".panel");
  if (panel && !panel.classList.contains("shown")) {
    for (const one of panels) one.classList.toggle("shown", one === panel);
    // It had no size until now: what depends on it is measured again.
    dispatchEvent(new Event("resize"));
    if (panel.id !== id && id !== "log") document.getElementById(id)?.scrollIntoView();
  }
  mark();
}

/** Says in the tabs which panel is shown. */
function mark() {
  const shown = document.querySelector(".panel.shown")?.id;
  for (const link of document.querySelectorAll("[data-first] a"))
    if (link.getAttribute("href") === `#${shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
}

/** A job that begins to run shows its log, unless the reader has chosen. */
function drawn() {
  if (location.hash === "" && first() === "log") show();
  mark();
}

for (const event of ["popstate", "hashchange"]) addEventListener(event, show);
document.addEventListener("drawn", drawn);
show();
