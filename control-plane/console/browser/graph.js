// @ts-check
/**
 * `<windlass-graph>`: zooms and pans the drawing, searches it, shows the entry of a node beside it,
 * opens and closes modules in place, and colours what an apply has reached.
 */

const limits = { closest: 2, farthest: 0.05, first: 0.6 };
/** Pixels of a key's move, and between the drawing and its frame. */
const step = 60;
const margin = 24;

/** @typedef {{ x: number, y: number }} Point */

class WindlassGraph extends HTMLElement {
  /** The point of the drawing in the middle, and pixels of the screen for each of its own. */
  #view = { x: 0, y: 0, scale: 1 };
  /** Where each pointer is that is down. @type {Map<number, Point>} */
  #pointers = new Map();
  #moved = 0;
  /** @type {Element[]} */
  #found = [];
  #at = -1;

  connectedCallback() {
    this.addEventListener("click", (event) => void this.#clicked(event));
    this.addEventListener("keydown", (event) => this.#pressed(event));
    this.addEventListener("input", () => this.#search());
    this.addEventListener("wheel", (event) => this.#wheeled(event), { passive: false });
    this.addEventListener("pointerdown", (event) => this.#down(event));
    this.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of /** @type {const} */ (["pointerup", "pointercancel"]))
      this.addEventListener(end, ({ pointerId }) => this.#pointers.delete(pointerId));
    this.addEventListener("focusin", ({ target }) => this.#reveal(/** @type {Element} */ (target)));
    // A browser would drag the link.
    this.addEventListener("dragstart", (event) => event.preventDefault());
    addEventListener("resize", () => this.#draw());
    addEventListener("popstate", () => location.reload());
    document.addEventListener("drawn", () => this.#colour());
    this.#begin();
    this.#fit(limits.first);
    this.#pick(decodeURIComponent(location.hash.slice(1)));
  }

  /** @returns {HTMLElement | null} */
  get #stage() {
    return this.querySelector(".graph");
  }
  get #svg() {
    return this.#stage?.querySelector("svg");
  }
  /** @returns {HTMLElement | null} */
  get #panel() {
    return this.querySelector(".graph-panel");
  }

  /** Takes over what the server drew. */
  #begin() {
    this.querySelector(".graph-tools")?.removeAttribute("hidden");
    const { width, height } = this.#svg?.viewBox.baseVal ?? { width: 0, height: 0 };
    this.size = { width, height };
    this.#stage?.classList.add("live");
    this.#colour();
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.#stage ?? this;
    const { x, y, scale } = this.#view;
    const [w, h] = [width / scale, height / scale];
    this.#svg?.setAttribute("viewBox", `${x - w / 2} ${y - h / 2} ${w} ${h}`);
  }

  /** Shows all; of a large graph, from its first node, as much as can be read. @param {number} least */
  #fit(least) {
    const { clientWidth, clientHeight } = this.#stage ?? this;
    const { width, height } = this.size ?? { width: 1, height: 1 };
    const [w, h] = [clientWidth - margin, clientHeight - margin];
    const scale = Math.max(least, Math.min(w / width, h / height, 1));
    this.#view = {
      x: width * scale <= w ? width / 2 - 16 : w / scale / 2 - 16,
      y: height / 2 - 16,
      scale,
    };
    this.#draw();
  }

  /** Zooms, and keeps a point of the screen at its place. @param {number} by @param {Point} [at] */
  #zoom(by, at) {
    const { x, y, scale } = this.#view;
    const next = Math.min(limits.closest, Math.max(limits.farthest, scale * by));
    const box = (this.#stage ?? this).getBoundingClientRect();
    const [dx, dy] = at
      ? [at.x - box.left - box.width / 2, at.y - box.top - box.height / 2]
      : [0, 0];
    const shift = 1 / scale - 1 / next;
    this.#view = { x: x + dx * shift, y: y + dy * shift, scale: next };
    this.#draw();
  }

  /** @param {number} dx pixels of the screen @param {number} dy */
  #pan(dx, dy) {
    const { x, y, scale } = this.#view;
    this.#view = { x: x + dx / scale, y: y + dy / scale, scale };
    this.#draw();
  }

  /** @param {WheelEvent} event */
  #wheeled(event) {
    if (!this.#isOnStage(event)) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) this.#zoom(Math.exp(-event.deltaY / 200), pointOf(event));
    else this.#pan(event.deltaX, event.deltaY);
  }

  /** @param {Event} event */
  #isOnStage({ target }) {
    return target instanceof Element && target.closest(".graph") !== null;
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (!this.#isOnStage(event) || event.button !== 0) return;
    this.#pointers.set(event.pointerId, pointOf(event));
    this.#moved = 0;
  }

  /** One pointer moves the drawing, two also zoom it. @param {PointerEvent} event */
  #move(event) {
    const old = this.#pointers.get(event.pointerId);
    if (!old) return;
    const now = pointOf(event);
    const [dx, dy] = [old.x - now.x, old.y - now.y];
    this.#moved += Math.abs(dx) + Math.abs(dy);
    // A click that trembles is a click.
    if (this.#moved < 4) return;
    this.#stage?.setPointerCapture(event.pointerId);
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, now);
    if (other) {
      const by = distance(now, other) / Math.max(1, distance(old, other));
      this.#zoom(by, { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
      this.#pan(dx / 2, dy / 2);
    } else this.#pan(dx, dy);
  }

  /** @param {MouseEvent} event */
  async #clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const button = target.closest("button");
    if (button?.name === "fit") this.#fit(limits.farthest);
    if (button?.name === "in") this.#zoom(1.25);
    if (button?.name === "out") this.#zoom(0.8);
    if (button?.name === "close") this.#close();
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = target.closest("a");
    const address = link?.getAttribute("href");
    // A key's click has no detail.
    const isDrag = event.detail > 0 && this.#moved >= 4 && this.#isOnStage(event);
    if (isDrag) event.preventDefault();
    if (!link || !address || isDrag) return;
    if (address.startsWith("#")) {
      event.preventDefault();
      const node = decodeURIComponent(address.slice(1));
      this.#pick(node);
      this.#reveal(this.#node(node));
    } else if (link.classList.contains("fold")) {
      event.preventDefault();
      await this.#fold(address, link);
    }
  }

  /** Draws it with another choice of modules; what was clicked stays where it is. @param {string} address @param {Element} link */
  async #fold(address, link) {
    const name = link.closest("[data-node]")?.getAttribute("data-node") ?? "";
    const before = this.#stage?.contains(link) ? link.getBoundingClientRect() : undefined;
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
    const after = this.#node(name)?.querySelector("text, .toggle") ?? this.#first(name);
    if (!before || !after) return this.#fit(limits.first);
    this.#draw();
    const box = after.getBoundingClientRect();
    this.#pan(box.left - before.left, box.top - before.top);
    this.#node(name)?.querySelector("a")?.focus({ preventScroll: true });
  }

  /** The first node in a module. @param {string} module */
  #first(module) {
    return [...this.querySelectorAll("svg [data-node]")].find((one) =>
      isIn(one.getAttribute("data-node") ?? "", module),
    );
  }

  /** @param {string} name @returns {SVGGraphicsElement | undefined} */
  #node(name) {
    return /** @type {SVGGraphicsElement[]} */ ([...this.querySelectorAll("svg [data-node]")]).find(
      (one) => one.getAttribute("data-node") === name,
    );
  }

  /** Shows a node's entry of the list, and what it is connected with. @param {string} name */
  #pick(name) {
    const entry = name === "" ? null : document.getElementById(name);
    const panel = this.#panel;
    if (!panel || !entry?.matches(".graph-list > li")) return;
    const close = document.createElement("button");
    Object.assign(close, { type: "button", name: "close", className: "quiet", textContent: "×" });
    close.setAttribute("aria-label", "Close");
    panel.replaceChildren(close, ...entry.cloneNode(true).childNodes);
    panel.hidden = false;
    panel.focus({ preventScroll: true });
    history.replaceState(null, "", `#${encodeURIComponent(name)}`);
    const others = [...entry.querySelectorAll('a[href^="#"]')].map((link) =>
      decodeURIComponent(link.getAttribute("href")?.slice(1) ?? ""),
    );
    const near = new Set([name, ...others]);
    this.#svg?.classList.add("picked");
    for (const node of this.querySelectorAll(".node")) {
      const id = node.getAttribute("data-node") ?? "";
      node.classList.toggle("near", near.has(id));
      node.classList.toggle("chosen", id === name);
    }
    for (const arrow of this.querySelectorAll(".arrow")) {
      const [from = "", to = ""] = ["data-from", "data-to"].map(
        (end) => arrow.getAttribute(end) ?? "",
      );
      const joins = (/** @type {string} */ one, /** @type {string} */ other) =>
        isIn(name, one) && others.some((id) => isIn(id, other));
      arrow.classList.toggle("near", joins(from, to) || joins(to, from));
    }
    this.#draw();
  }

  #close() {
    const name = this.querySelector(".chosen")?.getAttribute("data-node") ?? "";
    if (this.#panel) this.#panel.hidden = true;
    this.#svg?.classList.remove("picked");
    for (const one of this.querySelectorAll(".near, .chosen"))
      one.classList.remove("near", "chosen");
    history.replaceState(null, "", location.pathname + location.search);
    this.#draw();
    this.#node(name)?.querySelector("a")?.focus({ preventScroll: true });
  }

  /** Moves the drawing as little as shows a node of it. @param {Element | undefined} target */
  #reveal(target) {
    const node = target?.closest(".node, .fold");
    const stage = this.#stage;
    if (!node || !stage?.contains(node) || this.#pointers.size > 0) return;
    stage.scrollTo(0, 0);
    const [box, frame] = [node.getBoundingClientRect(), stage.getBoundingClientRect()];
    this.#pan(
      excess(box.left, box.right, frame.left, frame.right),
      excess(box.top, box.bottom, frame.top, frame.bottom),
    );
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target instanceof HTMLInputElement) {
      if (key === "Enter") {
        event.preventDefault();
        this.#next(event.shiftKey ? -1 : 1);
      }
      return;
    }
    if (key === "Escape") this.#close();
    else if (!this.#isOnStage(event)) return;
    else if (key === "+" || key === "=") this.#zoom(1.25);
    else if (key === "-") this.#zoom(0.8);
    else if (key === "0") this.#fit(limits.farthest);
    else if (key === "ArrowLeft") this.#pan(-step, 0);
    else if (key === "ArrowRight") this.#pan(step, 0);
    else if (key === "ArrowUp") this.#pan(0, -step);
    else if (key === "ArrowDown") this.#pan(0, step);
    else return;
    event.preventDefault();
  }

  #search() {
    const field = /** @type {HTMLInputElement | null} */ (this.querySelector("[name=find]"));
    const wanted = field?.value.trim().toLowerCase() ?? "";
    const nodes = [...this.querySelectorAll("svg .node")];
    this.#found = nodes.filter((node) =>
      node.getAttribute("data-node")?.toLowerCase().includes(wanted),
    );
    for (const node of nodes)
      node.classList.toggle("missed", wanted !== "" && !this.#found.includes(node));
    this.#at = -1;
    const said = this.querySelector("output");
    if (said) said.textContent = wanted === "" ? "" : `${this.#found.length} of ${nodes.length}`;
    if (wanted !== "") this.#reveal(this.#found[0]);
  }

  /** Chooses the next node that was found. @param {number} by */
  #next(by) {
    if (this.#found.length === 0) return;
    this.#at = (this.#at + by + this.#found.length) % this.#found.length;
    const node = this.#found[this.#at];
    const field = document.activeElement;
    this.#pick(node?.getAttribute("data-node") ?? "");
    this.#reveal(node);
    if (field instanceof HTMLElement) field.focus();
  }

  /** Gives the nodes the states that the server told last. */
  #colour() {
    const states = new Map(
      [...document.querySelectorAll("#graph-progress li")].map((one) => [
        one.getAttribute("data-node"),
        one.className,
      ]),
    );
    for (const node of this.querySelectorAll("svg .node")) {
      const state = states.get(node.getAttribute("data-node")) ?? "";
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

/**
 * How far a stretch lies outside of another one, with a margin.
 * @param {number} low @param {number} high @param {number} from @param {number} to
 */
const excess = (low, high, from, to) =>
  low < from + margin ? low - from - margin : Math.max(0, high - to + margin);

/** Whether a node is another one, or in that module. @param {string} node @param {string} module */
const isIn = (node, module) => node === module || node.startsWith(`${module}.`);

/** @param {MouseEvent} event @returns {Point} */
const pointOf = ({ clientX, clientY }) => ({ x: clientX, y: clientY });

/** @param {Point} one @param {Point} other */
const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);

customElements.define("windlass-graph", WindlassGraph);
