// @ts-check
/** Keeps the parts of a page that are marked `data-live` as the server draws them now. Without it the page is as good as its last load. */

/** What the server last drew of each part: a reader may have opened and closed things in it since. */
const drawn = new Map(parts(document).map((part) => [part.id, part.innerHTML]));
/** A page that answers a form is drawn anew from elsewhere. */
const from =
  document.querySelector("[data-from]")?.getAttribute("data-from") ??
  location.pathname + location.search;
let isAsking = false;
let again = false;

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
    if (answer.redirected) location.reload();
    else if (answer.ok) draw(new DOMParser().parseFromString(await answer.text(), "text/html"));
    document.body.classList.toggle("away", !answer.ok);
  } catch {
    // The server is not there at the moment: what is shown may be old, and the page says so.
    document.body.classList.add("away");
  }
  isAsking = false;
  if (again) await refresh();
}

/** @param {Document} fresh */
function draw(fresh) {
  for (const part of parts(fresh)) {
    const old = document.getElementById(part.id);
    if (!old || drawn.get(part.id) === part.innerHTML) continue;
    drawn.set(part.id, part.innerHTML);
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const place = focused
      ? [...old.querySelectorAll("a, button, summary, input")].indexOf(focused)
      : -1;
    old.replaceChildren(...part.childNodes);
    const heir = old.querySelectorAll("a, button, summary, input")[place];
    if (heir instanceof HTMLElement) heir.focus({ preventScroll: true });
  }
}

const seconds = Number(document.querySelector("[data-refresh]")?.getAttribute("data-refresh") ?? 0);
if (seconds > 0)
  setInterval(() => {
    if (!document.hidden) void refresh();
  }, seconds * 1000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void refresh();
});
document.addEventListener("progress", () => void refresh());
