// @ts-check
/**
 * The steps of a job as parts of its log that fold. What is folded keeps its text, so that the search
 * of the browser finds it, and opens it.
 */
import { took } from "./age.js";
import { serverNow } from "./times.js";

/** Of a job; its runner names them. Lines after the last one belong to it. */
const mostSteps = 200;

/** Beside this script. */
const icons = new URL("icons.svg", import.meta.url).pathname;

/** The icon of each state. */
const looks = {
  running: "loader",
  done: "circle-check",
  failed: "x",
  stopped: "ban",
};
/** @typedef {keyof typeof looks} State */

class Part {
  lines = 0;
  /** By the runner's clock. @type {number | null} */
  ended = null;
  /** Whether the reader, or a link, has opened or folded it. */
  isChosen = false;
  #head;
  /** What its heading says. */
  #said = "";

  /**
   * @param {HTMLTemplateElement} template
   * @param {string} name
   * @param {{ at: number, received: number }} times when it began, by the clocks of runner and server
   */
  constructor(template, name, { at, received }) {
    this.element = /** @type {HTMLElement} */ (
      /** @type {Element} */ (template.content.firstElementChild).cloneNode(true)
    );
    this.#head = this.#get("button");
    this.body = this.#get(".body");
    this.name = name;
    this.#get("strong").textContent = name;
    this.at = at;
    this.received = received;
    this.#head.addEventListener("click", () => this.choose(!this.isOpen));
    this.body.addEventListener("beforematch", () => this.choose(true));
  }

  /** @param {string} selector */
  #get(selector) {
    return /** @type {HTMLElement} */ (this.element.querySelector(selector));
  }

  get isOpen() {
    return !this.body.hasAttribute("hidden");
  }

  /** The reader's or a link's choice stays. @param {boolean} isOpen */
  choose(isOpen) {
    this.isChosen = true;
    this.open(isOpen);
  }

  /** @param {boolean} isOpen */
  open(isOpen) {
    if (isOpen === this.isOpen) return;
    if (isOpen) this.body.removeAttribute("hidden");
    else this.body.setAttribute("hidden", "until-found");
    this.#head.setAttribute("aria-expanded", String(isOpen));
    this.element.dispatchEvent(new Event("fold", { bubbles: true }));
  }

  /** Writes its heading. @param {State} state */
  show(state) {
    const { lines, at, ended, received } = this;
    const now = Math.floor((serverNow() - received) / 1000) * 1000;
    const length = ended !== null ? ended - at : state === "running" ? now : null;
    const count = `${lines.toLocaleString("en")} ${lines === 1 ? "line" : "lines"}`;
    const duration = length === null ? "" : took(Math.max(0, length));
    const said = [state, count, duration].join();
    if (said === this.#said) return;
    this.#said = said;
    this.element.dataset["state"] = state;
    this.#get(".icon + .icon use").setAttribute("href", `${icons}#${looks[state]}`);
    this.#get(".how").textContent = state;
    this.#get(".count").textContent = count;
    this.#get(".took").textContent = duration;
  }
}

export class LogSteps {
  #root;
  #template;
  /** @type {Part[]} */
  #parts = [];
  /** The job's. */
  #status = "";

  /** @param {HTMLElement} root @param {HTMLTemplateElement} template */
  constructor(root, template) {
    this.#root = root;
    this.#template = template;
  }

  /** Where the newest lines belong. */
  get body() {
    return this.#parts.at(-1)?.body ?? this.#root;
  }

  get count() {
    return this.#parts.length;
  }

  get isAnyOpen() {
    return this.#parts.some(({ isOpen }) => isOpen);
  }

  /**
   * Takes the start or the end of a step. Returns whether other lines begin here.
   * @param {{ name: string, event: string, at: string }} step
   * @param {string} received
   */
  take({ name, event, at }, received) {
    const moment = Date.parse(at);
    if (event === "ended") {
      const ended = this.#parts.findLast((part) => part.name === name && part.ended === null);
      if (ended) ended.ended = moment;
      return false;
    }
    if (this.#parts.length >= mostSteps) return false;
    const part = new Part(this.#template, name, { at: moment, received: Date.parse(received) });
    this.#parts.push(part);
    this.#root.append(part.element);
    return true;
  }

  /** A line of the newest step has ended. */
  addLine() {
    const part = this.#parts.at(-1);
    if (part) part.lines += 1;
  }

  /**
   * Writes the headings. `mayFold`: what is done and was not chosen by the reader may fold.
   * @param {boolean} mayFold
   */
  show(mayFold) {
    for (const [index, part] of this.#parts.entries()) {
      const isLast = index === this.#parts.length - 1;
      const state = this.#stateOf(part, isLast);
      part.show(state);
      if (mayFold && this.#isOver && state === "done" && !isLast && !part.isChosen)
        part.open(false);
    }
  }

  /** @param {string} status the job's */
  set status(status) {
    this.#status = status;
  }

  get #isOver() {
    return ["SUCCESS", "FAILED", "CANCELLED"].includes(this.#status);
  }

  /** A job that fails or is cancelled goes no further. @param {Part} part @param {boolean} isLast */
  #stateOf({ ended }, isLast) {
    if (isLast && this.#status === "FAILED") return "failed";
    if (isLast && this.#status === "CANCELLED") return "stopped";
    return ended === null && isLast && !this.#isOver ? "running" : "done";
  }

  /** Opens the step in which an element is. @param {Element} element */
  reveal(element) {
    this.#parts.find(({ body }) => body.contains(element))?.choose(true);
  }

  /** @param {boolean} isOpen */
  chooseAll(isOpen) {
    for (const part of this.#parts) part.choose(isOpen);
  }
}
