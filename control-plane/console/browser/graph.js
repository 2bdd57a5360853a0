// @ts-check
/**
 * `<windlass-graph>`: searches the drawing, shows the entry of a node beside it, opens and closes
 * modules in place, and colours what an apply has reached.
 */
import { make } from "./dialog.js";
import { GraphCanvas } from "./graph-canvas.js";

class WindlassGraph extends HTMLElement {
  /** Null where the graph is too complex to draw. @type {GraphCanvas | null} */
  #canvas = null;
  /** The nodes that are searched for, and the one that was gone to. @type {Element[]} */
  #found = [];
  #at = -1;

  connectedCallback() {
    this.addEventListener("click", (event) => void this.#clicked(event));
    this.addEventListener("keydown", (event) => this.#pressed(event));
    this.addEventListener("input", () => this.#search());
    this.addEventListener("focusin", ({ target }) =>
      this.#canvas?.reveal(/** @type {Element} */ (target).closest("svg a")),
    );
    addEventListener("popstate", () => location.reload());
    document.addEventListener("drawn", () => this.#colour());
    this.#begin();
    this.#canvas?.begin();
    this.#pick(decodeURIComponent(location.hash.slice(1)));
  }

  /** Takes over what the server drew. */
  #begin() {
    this.querySelector(".graph-tools")?.removeAttribute("hidden");
    /** @type {HTMLElement | null} */
    const frame = this.querySelector(".graph");
    this.#canvas = frame && new GraphCanvas(frame);
    this.#colour();
  }

  /** @returns {HTMLElement | null} */
  get #panel() {
    return this.querySelector(".graph-panel");
  }

  get #nodes() {
    return [...this.querySelectorAll("svg .node")];
  }

  /** A node, or the title of an open module. @param {string} id */
  #node(id) {
    return [...this.querySelectorAll("svg [data-node]")].find((one) => idOf(one) === id);
  }

  /** @param {MouseEvent} event */
  async #clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const button = target.closest("button")?.name;
    if (button === "fit") this.#canvas?.fit();
    if (button === "in") this.#canvas?.zoom(1);
    if (button === "out") this.#canvas?.zoom(-1);
    if (button === "close") this.#close();
    const link = target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const address = link.getAttribute("href") ?? "";
    const isMove = target.closest(".graph") !== null && this.#canvas?.isMove(event) === true;
    const isFold = link.classList.contains("fold");
    if (isMove || isFold || address.startsWith("#")) event.preventDefault();
    if (isMove) return;
    if (isFold) await this.#fold(address, link);
    else if (address.startsWith("#")) this.#pick(decodeURIComponent(address.slice(1)));
  }

  /**
   * Draws it with another choice of modules; what was clicked stays at its place.
   * @param {string} address @param {Element} link
   */
  async #fold(address, link) {
    const old = this.#canvas;
    const isDrawn = link.closest("svg") !== null;
    const place = link.getBoundingClientRect();
    const id = idOf(link.closest("[data-node]"));
    this.classList.add("busy");
    const answer = await fetch(address).catch(() => undefined);
    const text = answer?.ok && !answer.redirected ? await answer.text() : "";
    const fresh = new DOMParser()
      .parseFromString(text, "text/html")
      .querySelector("windlass-graph");
    if (!fresh) return location.assign(address);
    this.classList.remove("busy");
    this.replaceChildren(...fresh.childNodes);
    history.pushState(null, "", address);
    this.#begin();
    const clicked = this.#node(id) ?? this.#nodes.find((one) => isIn(idOf(one), id));
    if (!isDrawn || !old || !clicked) return this.#canvas?.begin();
    this.#canvas?.take(old);
    const { left, top } = clicked.getBoundingClientRect();
    this.#canvas?.pan(left - place.left, top - place.top);
    this.#focus(clicked);
  }

  /** @param {Element | undefined} node */
  #focus(node) {
    const link = node?.matches("a") ? node : node?.querySelector("a");
    /** @type {SVGAElement | null | undefined} */ (link)?.focus({ preventScroll: true });
  }

  /** Shows a node's entry of the list, and what it is connected with. @param {string} id */
  #pick(id) {
    const entry = document.getElementById(id);
    const panel = this.#panel;
    if (!panel || !entry?.matches(".graph-list > li")) return;
    const look = { type: "button", name: "close", class: "quiet", "aria-label": "Close" };
    panel.replaceChildren(make("button", look, "×"), ...entry.cloneNode(true).childNodes);
    panel.hidden = false;
    panel.focus({ preventScroll: true });
    history.replaceState(null, "", `#${encodeURIComponent(id)}`);
    const others = [...entry.querySelectorAll('a[href^="#"]')].map((link) =>
      decodeURIComponent(link.getAttribute("href")?.slice(1) ?? ""),
    );
    this.querySelector("svg")?.classList.add("picked");
    for (const node of this.#nodes) {
      node.classList.toggle("near", idOf(node) === id || others.includes(idOf(node)));
      node.classList.toggle("chosen", idOf(node) === id);
    }
    for (const arrow of this.querySelectorAll(".arrow")) {
      const [from, to] = [arrow.getAttribute("data-from"), arrow.getAttribute("data-to")];
      const joins = (/** @type {string | null} */ one, /** @type {string | null} */ other) =>
        isIn(id, one ?? "") && others.some((node) => isIn(node, other ?? ""));
      arrow.classList.toggle("near", joins(from, to) || joins(to, from));
    }
    this.#canvas?.reveal(this.#node(id));
  }

  #close() {
    const chosen = this.querySelector(".chosen") ?? undefined;
    if (this.#panel) this.#panel.hidden = true;
    for (const name of ["picked", "near", "chosen"])
      for (const one of this.querySelectorAll(`svg.${name}, svg .${name}`))
        one.classList.remove(name);
    history.replaceState(null, "", location.pathname + location.search);
    this.#focus(chosen);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const { key } = event;
    const target = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "Escape") this.#close();
    else if (key === "Enter" && target.matches("input")) this.#next(event.shiftKey ? -1 : 1);
    else if (!target.closest(".graph") || !this.#canvas?.press(key)) return;
    event.preventDefault();
  }

  #search() {
    const field = /** @type {HTMLInputElement} */ (this.querySelector("[name=find]"));
    const wanted = field.value.trim().toLowerCase();
    const nodes = this.#nodes;
    this.#found = nodes.filter((node) => idOf(node).toLowerCase().includes(wanted));
    this.#at = -1;
    for (const node of nodes) node.classList.toggle("missed", !this.#found.includes(node));
    const said = `${this.#found.length} of ${nodes.length}`;
    this.querySelector("output")?.replaceChildren(wanted === "" ? "" : said);
    if (wanted !== "") this.#canvas?.reveal(this.#found[0]);
  }

  /** Chooses the next node that was found. @param {1 | -1} by */
  #next(by) {
    const count = this.#found.length;
    if (count === 0) return;
    this.#at = (this.#at + by + count) % count;
    const field = /** @type {HTMLElement | null} */ (document.activeElement);
    this.#pick(idOf(this.#found[this.#at]));
    field?.focus();
  }

  /** Gives the nodes the states that the server told last. */
  #colour() {
    const states = new Map(
      [...document.querySelectorAll("#graph-progress li")].map((one) => [idOf(one), one.className]),
    );
    for (const node of this.#nodes) {
      const state = states.get(idOf(node)) ?? "";
      const word = node.querySelector(".state");
      if (!word || word.textContent === state) continue;
      word.textContent = state;
      node.classList.remove("running", "done", "failed");
      if (state) node.classList.add(state);
      const title = node.querySelector("title")?.textContent ?? "";
      node.querySelector("a")?.setAttribute("aria-label", state ? `${title}, ${state}` : title);
    }
  }
}

/** @param {Element | null | undefined} one */
const idOf = (one) => one?.getAttribute("data-node") ?? "";

/** Whether a node is another one, or in that module. @param {string} node @param {string} module */
const isIn = (node, module) => node === module || node.startsWith(`${module}.`);

customElements.define("windlass-graph", WindlassGraph);
