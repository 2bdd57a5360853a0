// @ts-check
/** The drawing of a graph as a canvas: moved and zoomed by mouse, fingers and keys. */

const limits = { closest: 2, farthest: 0.05, readable: 0.6 };
const factor = 1.25;
/** Pixels of a key's move, and between a node and the frame. */
const step = 60;
const margin = 24;

/** @typedef {{ x: number, y: number }} Point */

/** What each key moves. @type {Readonly<Record<string, readonly [number, number]>>} */
const moves = {
  ArrowLeft: [-step, 0],
  ArrowRight: [step, 0],
  ArrowUp: [0, -step],
  ArrowDown: [0, step],
};

export class GraphCanvas {
  #frame;
  #svg;
  /** Where all of it is. */
  #all;
  /** The point of the drawing in the middle, and pixels of the screen for each of its own. */
  #view = { x: 0, y: 0, scale: 1 };
  /** Where each pointer is that is down. @type {Map<number, Point>} */
  #pointers = new Map();
  #moved = 0;

  /** @param {HTMLElement} frame */
  constructor(frame) {
    this.#frame = frame;
    this.#svg = /** @type {SVGSVGElement} */ (frame.querySelector("svg"));
    const { x, y, width, height } = this.#svg.viewBox.baseVal;
    this.#all = { x, y, width, height };
    frame.classList.add("live");
    frame.addEventListener("wheel", (event) => this.#wheeled(event), { passive: false });
    frame.addEventListener("pointerdown", (event) => this.#down(event));
    frame.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of /** @type {const} */ (["pointerup", "pointercancel"]))
      frame.addEventListener(end, ({ pointerId }) => this.#pointers.delete(pointerId));
    // A browser would drag the link.
    frame.addEventListener("dragstart", (event) => event.preventDefault());
    new ResizeObserver(() => this.#draw()).observe(frame);
  }

  /** Whether a click ends a move. A key's click has no detail. @param {MouseEvent} event */
  isMove(event) {
    return event.detail > 0 && this.#moved >= 4;
  }

  #draw() {
    const { clientWidth, clientHeight } = this.#frame;
    const { x, y, scale } = this.#view;
    const [width, height] = [clientWidth / scale, clientHeight / scale];
    this.#svg.setAttribute("viewBox", `${x - width / 2} ${y - height / 2} ${width} ${height}`);
  }

  /** Shows all of it, unless it would be too small to be read: then its left side. */
  begin() {
    this.fit(limits.readable);
  }

  fit(least = limits.farthest) {
    const { x, y, width, height } = this.#all;
    const { clientWidth, clientHeight } = this.#frame;
    const scale = Math.max(least, Math.min(clientWidth / width, clientHeight / height, 1));
    const shown = Math.min(width, clientWidth / scale);
    this.#view = { x: x + shown / 2, y: y + height / 2, scale };
    this.#draw();
  }

  /**
   * Zooms in or out by a number of steps, and keeps a point of the screen at its place.
   * @param {number} steps @param {Point} [at]
   */
  zoom(steps, at) {
    const { x, y, scale } = this.#view;
    const wanted = scale * factor ** steps;
    const next = Math.min(limits.closest, Math.max(limits.farthest, wanted));
    const box = this.#frame.getBoundingClientRect();
    const shift = 1 / scale - 1 / next;
    const dx = at ? at.x - box.left - box.width / 2 : 0;
    const dy = at ? at.y - box.top - box.height / 2 : 0;
    this.#view = { x: x + dx * shift, y: y + dy * shift, scale: next };
    this.#draw();
  }

  /** @param {number} dx pixels of the screen @param {number} dy */
  pan(dx, dy) {
    const { x, y, scale } = this.#view;
    this.#view = { x: x + dx / scale, y: y + dy / scale, scale };
    this.#draw();
  }

  /** The zoom and place of another drawing. @param {GraphCanvas} other */
  take(other) {
    this.#view = other.#view;
    this.#draw();
  }

  /** Moves as little as shows a node. @param {Element | null | undefined} node */
  reveal(node) {
    if (!node || this.#pointers.size > 0) return;
    // A browser scrolls to what it focuses.
    this.#frame.scrollTo(0, 0);
    const [box, frame] = [node.getBoundingClientRect(), this.#frame.getBoundingClientRect()];
    this.pan(
      excess(box.left, box.right, frame.left, frame.right),
      excess(box.top, box.bottom, frame.top, frame.bottom),
    );
  }

  /** Returns whether the key is one of the canvas. @param {string} key */
  press(key) {
    const move = moves[key];
    if (move) this.pan(...move);
    else if (key === "+" || key === "=") this.zoom(1);
    else if (key === "-") this.zoom(-1);
    else if (key === "0") this.fit();
    else return false;
    return true;
  }

  /** @param {WheelEvent} event */
  #wheeled(event) {
    event.preventDefault();
    // A pinch on a touchpad comes as a wheel with Ctrl.
    if (event.ctrlKey || event.metaKey) this.zoom(-event.deltaY / 45, pointOf(event));
    else this.pan(event.deltaX, event.deltaY);
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0) return;
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
    this.#frame.setPointerCapture(event.pointerId);
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, now);
    if (!other) return this.pan(dx, dy);
    const by = distance(now, other) / Math.max(1, distance(old, other));
    this.zoom(Math.log(by) / Math.log(factor), {
      x: (now.x + other.x) / 2,
      y: (now.y + other.y) / 2,
    });
    this.pan(dx / 2, dy / 2);
  }
}

/** @param {MouseEvent} event @returns {Point} */
const pointOf = ({ clientX, clientY }) => ({ x: clientX, y: clientY });

/** @param {Point} one @param {Point} other */
const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);

/**
 * How far a stretch lies outside of another one, with a margin.
 * @param {number} low @param {number} high @param {number} from @param {number} to
 */
const excess = (low, high, from, to) =>
  low < from + margin ? low - from - margin : Math.max(0, high - to + margin);
