// @ts-check
/**
 * Keeps the parts of a page that are marked `data-live` as the server draws them now. Without it
 * the page is as good as its last load.
 */
import { hasTyped } from "./forms.js";
import { keepEntries } from "./entries.js";
import { patch } from "./patch.js";
import { showTimes } from "./times.js";

/** What the server last drew of each part: most of the time it draws the same again. */
const drawn = new Map(parts(document).map((part) => [part.id, part.innerHTML]));
/** The page of a refused form is redrawn from another address. */
const from =
  document.querySelector("[data-from]")?.getAttribute("data-from") ??
  location.pathname + location.search;
let isAsking = false;
let again = false;
/** @type {ReturnType<typeof setInterval> | undefined} */
let timer;

/** @param {Document} document @returns {HTMLElement[]} */
function parts(document) {
  return [...document.querySelectorAll("[data-live]")].map(
    (part) => /** @type {HTMLElement} */ (part),
  );
}

async function refresh() {
  // The address of a page that has no such parts may be a form's, which answers nothing else.
  if (drawn.size === 0) return;
  if (isAsking) {
    again = true;
    return;
  }
  isAsking = true;
  again = false;
  try {
    const answer = await fetch(from);
    if (answer.redirected) {
      // To the sign-in. What is typed stays until it is sent.
      if (!hasTyped()) location.reload();
    } else if (answer.ok) draw(new DOMParser().parseFromString(await answer.text(), "text/html"));
    away(answer.ok ? "" : [403, 404, 410].includes(answer.status) ? gone : silent);
  } catch {
    // The server is not there at the moment: what is shown may be old, and the page says so.
    away(silent);
  }
  isAsking = false;
  if (again) await refresh();
}

const note = document.querySelector(".away-note");
/** The page itself says that the server does not respond. */
const silent = note?.textContent ?? "";
const gone = "This was deleted or moved, or you may no longer see it. Reload the page.";

/** Says above the page why it is out of date; an empty text: it is not. @param {string} why */
function away(why) {
  if (note && why) note.textContent = why;
  document.body.classList.toggle("away", why !== "");
}

/** Why a form was refused: only the page that answers it says so. */
const refusal = ".error[autofocus]";

/** @param {Document} fresh */
function draw(fresh) {
  showTimes(fresh);
  for (const part of parts(fresh)) {
    const old = document.getElementById(part.id);
    if (!old || drawn.get(part.id) === part.innerHTML || old.querySelector(refusal)) continue;
    drawn.set(part.id, part.innerHTML);
    keepEntries(old, () => patch(old, part));
  }
  document.dispatchEvent(new Event("drawn"));
  keep(fresh);
}

/**
 * Asks as often as the page says, which may change: what is over changes no more. @param {Document}
 * page
 */
function keep(page) {
  clearInterval(timer);
  const seconds = Number(page.querySelector("[data-refresh]")?.getAttribute("data-refresh") ?? 0);
  if (seconds > 0)
    timer = setInterval(() => {
      if (!document.hidden) void refresh();
    }, seconds * 1000);
}

keep(document);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void refresh();
});
document.addEventListener("progress", () => void refresh());
