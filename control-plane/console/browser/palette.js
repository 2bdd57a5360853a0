// @ts-check
/**
 * The command palette: the pages, the spaces, what this page offers, and everything whose name has
 * the typed text. It goes somewhere and never changes anything: what a button does is left to the button.
 */
import { make, openDialog } from "./dialog.js";

/** @typedef {{ name: string, kind: string, go: () => void }} Command */

/** Milliseconds after the last key before the server is asked. */
const pause = 120;

/** @param {string | null} path @returns {() => void} */
const to = (path) => () => {
  if (path !== null) location.href = path;
};

/** @param {Element} element */
const nameOf = (element) => (element.textContent ?? "").replaceAll(/\s+/g, " ").trim();

/** @param {string} kind @param {string} selector @returns {Command[]} */
const linksOf = (kind, selector) =>
  [...document.querySelectorAll(selector)].map((link) => ({
    name: nameOf(link),
    kind,
    go: to(link.getAttribute("href")),
  }));

/** The pages of the navigation, and the spaces of the reader. */
const places = () => [
  ...linksOf("Page", 'header nav a, header .spaces a[href^="/teams"]'),
  ...linksOf("Space", 'header .spaces a:not([href^="/teams"], [aria-current])'),
];

/** The buttons and headings of this page. @returns {Command[]} */
const here = () =>
  [...document.querySelectorAll("main :is(button, a.button, .ask > summary, h2)")]
    .filter((element) => element.checkVisibility() && !element.closest("windlass-log, .filters"))
    .map((element) => ({
      name: nameOf(element),
      kind: "On this page",
      go: () => {
        if (element instanceof HTMLAnchorElement) return element.click();
        if (element.matches("h2")) element.setAttribute("tabindex", "-1");
        element.scrollIntoView({ block: "center" });
        /** @type {HTMLElement} */ (element).focus();
      },
    }));

/** What has this text in its name. @param {string} text @returns {Promise<Command[]>} */
async function found(text) {
  // The form of the navigation knows the team.
  const form = document.querySelector("header form[role=search]");
  const address = new URL(form?.getAttribute("action") ?? "/search", location.href);
  address.searchParams.set("q", text);
  const answer = await fetch(address);
  if (!answer.ok || answer.redirected) return [];
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return [...page.querySelectorAll("#found a")].map((link) => ({
    name: nameOf(link),
    kind: link.closest("section")?.getAttribute("aria-label") ?? "",
    go: to(link.getAttribute("href")),
  }));
}

export function openPalette() {
  const input = make("input", {
    type: "search",
    role: "combobox",
    "aria-label": "Go to a page, an action or a name",
    "aria-controls": "palette-list",
    "aria-expanded": "true",
    "aria-autocomplete": "list",
    autocomplete: "off",
    placeholder: "Type a name",
  });
  const list = make("ul", { id: "palette-list", role: "listbox", "aria-label": "Results" });
  const said = make("p", { class: "soft", role: "status" });
  const known = [...here(), ...places()];
  /** @type {Command[]} */
  let shown = [];
  let chosen = 0;
  let asked = 0;
  let timer = 0;

  /** @param {Command[]} commands @param {boolean} isAsking */
  function show(commands, isAsking) {
    shown = commands;
    said.textContent = commands.length > 0 ? "" : isAsking ? "Searching…" : "Nothing found.";
    list.replaceChildren(
      ...commands.map(({ name, kind }, index) =>
        make(
          "li",
          { role: "option", id: `palette-${index}`, "aria-selected": "false" },
          make("span", {}, name),
          make("span", { class: "soft" }, kind),
        ),
      ),
    );
    choose(0);
  }

  /** @param {number} index */
  function choose(index) {
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = shown.length === 0 ? 0 : (index + shown.length) % shown.length;
    const option = list.children[chosen];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  }

  function filter() {
    const text = input.value.trim().toLowerCase();
    const near = known.filter(({ name }) => name.toLowerCase().includes(text));
    show(near, text !== "");
    clearTimeout(timer);
    const question = (asked += 1);
    if (text !== "")
      timer = setTimeout(async () => {
        const more = await found(text).catch(() => []);
        if (question === asked) show([...more, ...near], false);
      }, pause);
  }

  /** @param {number} index */
  function run(index) {
    const command = shown[index];
    dialog.close();
    command?.go();
  }

  input.addEventListener("input", filter);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Enter") run(chosen);
    // A browser would empty the field first.
    else if (event.key === "Escape") dialog.close();
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", ({ target }) => {
    const option = target instanceof Element ? target.closest("[role=option]") : null;
    if (option) run([...list.children].indexOf(option));
  });
  const dialog = openDialog("Command palette", input, list, said);
  dialog.className = "palette";
  filter();
  input.focus();
}
