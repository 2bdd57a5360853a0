// @ts-check
/** Keys of the console. Each is a way to something that can be reached without it. */
import { make, openDialog } from "./dialog.js";
import { openPalette } from "./palette.js";

/** Readers whose own tools send single keys can switch them off. */
const setting = "windlass.keys";

const places = /** @type {const} */ ({
  o: ["/", "Overview"],
  z: ["/zones", "Zones"],
  j: ["/jobs", "Jobs"],
  p: ["/pull-requests", "Pull requests"],
  w: ["/workers", "Workers"],
  i: ["/identities", "Identities"],
  v: ["/variable-sets", "Variable sets"],
  c: ["/connections", "Connections"],
  n: ["/notifications", "Notifications"],
  t: ["/teams", "Teams"],
  a: ["/audit", "Audit"],
  s: ["/settings", "Settings"],
});

/** What `?` shows. */
const help = [
  ["/", "Search names, and jobs by their ids"],
  ["Ctrl K", "Command palette; ⌘ K on a Mac"],
  ["j", "Next row of a table"],
  ["k", "Previous row of a table"],
  ...Object.entries(places).map(([letter, [, name]]) => [`g ${letter}`, name]),
  ["+ - 0", "In a graph: zoom in, zoom out, show all of it"],
  ["?", "These keys"],
  ["Esc", "Close"],
];

/** Whether the last key was `g`. */
let isGoing = false;

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey) {
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) openPalette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target)) return;
  if (document.querySelector("dialog[open]") || localStorage.getItem(setting) === "off") return;
  const isPlace = isGoing && key in places;
  isGoing = key === "g";
  if (isPlace) location.href = addressOf(places[/** @type {keyof typeof places} */ (key)][0]);
  else if (isGoing) return;
  else if (key === "/") search();
  else if (key === "?") showKeys();
  else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else return;
  event.preventDefault();
});

/** @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches("input:not([type=checkbox], [type=radio]), textarea, select"));

function search() {
  const input = document.querySelector("header input[type=search]");
  if (input instanceof HTMLInputElement) {
    input.focus();
    input.select();
  } else location.href = "/search";
}

/** The link of the navigation, which knows the team. @param {string} path */
const addressOf = (path) =>
  [...document.querySelectorAll('header nav a, header a[href^="/teams"]')]
    .map((link) => /** @type {HTMLAnchorElement} */ (link).href)
    .find((address) => new URL(address).pathname === path) ?? path;

/** Focuses the link of the next row, or of the row before. @param {1 | -1} step */
function move(step) {
  const rows = [...document.querySelectorAll("main :is(tbody tr, .audit li)")].filter((row) =>
    row.querySelector("a"),
  );
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = at < 0 ? rows.at(step > 0 ? 0 : -1) : rows[at + step];
  row?.querySelector("a")?.focus();
}

function showKeys() {
  const box = make("input", { type: "checkbox" });
  box.checked = localStorage.getItem(setting) !== "off";
  box.addEventListener("change", () => localStorage.setItem(setting, box.checked ? "on" : "off"));
  const close = make("button", { type: "button", class: "quiet" }, "Close");
  const dialog = openDialog(
    "Keys",
    make("h2", {}, "Keys"),
    make(
      "dl",
      { class: "keys" },
      ...help.flatMap(([keys = "", what = ""]) => [
        make("dt", {}, ...keys.split(" ").map((key) => make("kbd", {}, key))),
        make("dd", {}, what),
      ]),
    ),
    make("label", { class: "tick" }, box, make("span", {}, "Single keys do this")),
    close,
  );
  close.addEventListener("click", () => dialog.close());
}

const button = document.querySelector("button[name=keys]");
button?.removeAttribute("hidden");
button?.addEventListener("click", showKeys);
