// @ts-check
/**
 * `<windlass-log>`: the log of a job, live, with search, follow, wrap, times and links to its
 * lines.
 */
import { showRunning } from "./bars.js";
import { showFound } from "./found-text.js";
import { fitToWindow } from "./log-height.js";
import { LogLines } from "./log-lines.js";
import { LogSearch } from "./log-search.js";
import { LogSteps } from "./log-steps.js";
import { readLog } from "./log-stream.js";
import { logZone } from "./times.js";

/** @typedef {import("./log-stream.js").Chunk} Chunk */

/** Characters written at a time: about a millisecond. */
const pieceSize = 16_384;
/** Writing pauses after this many milliseconds, so that the page can react. */
const turnMilliseconds = 10;

/** The progress of resources is drawn at most once in this many milliseconds. */
const drawMilliseconds = 1000;

/** What the line below the log says of the connection. */
const words = {
  live: "Live",
  away: "The server does not respond. Trying again; nothing is lost.",
  ended: "This is the whole log.",
  // The runner was lost, or did not say how much it has written.
  unconfirmed: "The log ends here.",
  signed_out: "You are signed out. Reload the page to sign in again.",
  gone: "This job no longer exists.",
  unreadable: "The rest of this log cannot be read: it is damaged on the server.",
};

/**
 * `#L12` is a line, `#C345` the chunk with which the log says something of a resource; `#L12-L20`
 * and `#C345-C360` are the lines from one to another.
 */
const lineLink = /^#([LC])(\d{1,15})(?:-\1(\d{1,15}))?$/;

class WindlassLog extends HTMLElement {
  /** @type {(Chunk & { isFirst: boolean })[]} */
  #waiting = [];
  #isWriting = false;
  /** @type {keyof typeof words} */
  #state = "away";
  /** Whether a line was gone to. */
  #isMarked = false;
  /**
   * Whether following stopped because the user scrolled up. It resumes at the end of the log.
   */
  #isPaused = false;
  /** The lines with which chunks about a resource begin. @type {Map<number, number>} */
  #lineOf = new Map();
  #isDrawing = false;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #clock;
  /** @type {() => void} */
  #close = () => undefined;

  connectedCallback() {
    const get = (/** @type {string} */ selector) =>
      /** @type {HTMLElement} */ (this.querySelector(selector));
    this.box = get(".lines");
    this.said = get(".log-state");
    get(".tools").hidden = false;
    const template = /** @type {HTMLTemplateElement} */ (get("template"));
    this.steps = new LogSteps(this.box, template);
    this.lines = new LogLines(this.box, this.steps);
    this.search = new LogSearch(this.lines, (number, said, wanted) => {
      get("output").textContent = said;
      const line = number === null ? null : this.#go(number);
      if (line && this.box) showFound(this.box, line, wanted);
      else CSS.highlights?.delete("found");
    });
    this.follow = /** @type {HTMLInputElement} */ (get("[name=follow]"));
    this.follow.checked = !this.hasAttribute("ended") && !lineLink.test(location.hash);
    this.#listen(get);
    this.#close = readLog(this.getAttribute("job") ?? "", {
      chunk: (chunk) => this.#take(chunk),
      progress: (progress) => {
        if (this.steps) this.steps.status = progress.status;
        if (!this.#isWriting) this.#showSteps();
        this.dispatchEvent(new CustomEvent("progress", { bubbles: true, detail: progress }));
      },
      state: (state) => {
        this.#state = state;
        if (!this.#isWriting) this.#wrote();
      },
    });
    // How long the step in progress has taken.
    if (!this.hasAttribute("ended")) this.#clock = setInterval(() => this.#showSteps(), 1000);
  }

  /** Whether nothing more will come. */
  get #isOver() {
    return this.#state === "ended" || this.#state === "unconfirmed";
  }

  disconnectedCallback() {
    this.#close();
    clearInterval(this.#clock);
  }

  /** @param {(selector: string) => HTMLElement} get */
  #listen(get) {
    const find = /** @type {HTMLInputElement} */ (get("[name=find]"));
    let timer = 0;
    find.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => void this.search?.find(find.value), 150);
    });
    find.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      void this.search?.step(event.shiftKey ? -1 : 1);
    });
    get("[name=previous]").addEventListener("click", () => void this.search?.step(-1));
    get("[name=next]").addEventListener("click", () => void this.search?.step(1));
    get("[name=line]").addEventListener("change", (event) => {
      const field = /** @type {HTMLInputElement} */ (event.target);
      const number = Math.min(Math.floor(Number(field.value)), this.lines?.finished ?? 0);
      field.value = number > 0 ? String(number) : "";
      if (number > 0) location.hash = `L${number}`;
    });
    get("[name=fold]").addEventListener("click", () => {
      this.steps?.chooseAll(!this.steps.isAnyOpen);
    });
    this.box?.addEventListener("fold", () => this.#nameFold());
    for (const name of ["wrap", "times"]) this.#remember(name, get(`[name=${name}]`));
    this.follow?.addEventListener("change", () => {
      this.#isPaused = false;
      this.#keepUp();
    });
    this.box?.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.box?.addEventListener("click", (event) => this.#clicked(event));
    addEventListener("hashchange", () => {
      this.#isMarked = false;
      this.#goToHash();
    });
    const zone = get(".zone");
    zone.textContent = logZone();
    document.addEventListener("times", () => {
      zone.textContent = logZone();
      this.lines?.repaint();
    });
    // What stands above the log may have another height then.
    addEventListener("resize", () => this.#keepUp());
    document.addEventListener("drawn", () => this.#keepUp());
  }

  /** A switch of the reader's taste. @param {string} name @param {HTMLElement} element */
  #remember(name, element) {
    const box = /** @type {HTMLInputElement} */ (element);
    const key = `windlass.log.${name}`;
    const set = () => this.box?.classList.toggle(name, box.checked);
    box.checked = localStorage.getItem(key) === "on";
    set();
    box.addEventListener("change", () => {
      localStorage.setItem(key, box.checked ? "on" : "off");
      const keepPlace = this.box && placeKeeper(this.box);
      set();
      // The lines have other heights now.
      if (this.follow?.checked) this.#keepUp();
      else keepPlace?.();
    });
  }

  /** @param {Chunk} chunk */
  #take(chunk) {
    const { log_chunk } = chunk;
    if (chunk.resource) this.#drawSoon();
    let at = 0;
    do {
      // Not between the two halves of one character.
      const end = at + pieceSize + (isHalf(log_chunk.charCodeAt(at + pieceSize - 1)) ? 1 : 0);
      const isFirst = at === 0;
      this.#waiting.push({ ...chunk, log_chunk: log_chunk.slice(at, end), isFirst });
      at = end;
      // The end of a step has no text.
    } while (at < log_chunk.length);
    if (!this.#isWriting) this.#write();
  }

  /** Writes for a moment, then lets the page have its turn. */
  #write() {
    this.#isWriting = true;
    const begun = performance.now();
    let written = 0;
    for (const piece of this.#waiting) {
      const { id, resource, step, created_at, isFirst } = piece;
      if (step && isFirst && this.steps?.take(step, created_at)) this.lines?.beginStep();
      const noteLine = (/** @type {number} */ line) => this.#lineOf.set(id, line);
      this.lines?.write(piece, (resource || step) && isFirst ? noteLine : undefined);
      written += 1;
      if (performance.now() - begun > turnMilliseconds) break;
    }
    this.#waiting.splice(0, written);
    this.lines?.draw();
    this.#showSteps();
    this.#keepUp();
    if (this.#waiting.length > 0) setTimeout(() => this.#write());
    else {
      this.#isWriting = false;
      this.#wrote();
    }
  }

  /** All that has arrived is written. */
  #wrote() {
    if (this.#isOver) {
      this.lines?.finish();
      this.lines?.draw();
      clearInterval(this.#clock);
      this.#showSteps();
    }
    this.#say();
    if (!this.#isMarked) this.#goToHash();
  }

  /** Nothing folds above what the reader looks at. */
  #showSteps() {
    this.steps?.show(this.hasAttribute("ended") || this.follow?.checked === true);
    this.#nameFold();
  }

  #nameFold() {
    const fold = /** @type {HTMLElement | null} */ (this.querySelector("[name=fold]"));
    if (!fold || !this.steps) return;
    fold.hidden = this.steps.count === 0;
    fold.textContent = this.steps.isAnyOpen ? "Fold all" : "Open all";
  }

  #say() {
    const count = this.lines?.count ?? 0;
    const dropped = this.lines?.dropped ?? 0;
    const shown =
      dropped === 0
        ? `${count.toLocaleString("en")} ${count === 1 ? "line" : "lines"}`
        : `the last ${(count - dropped).toLocaleString("en")} of ${count.toLocaleString("en")} lines; the raw log has all of them`;
    const text = this.#isOver && count === 0 ? "No output." : `${words[this.#state]} ${shown}.`;
    const live = this.hasAttribute("ended")
      ? `Loading the log: ${shown} so far.`
      : `Live: ${count === 0 ? "no output yet" : shown}.`;
    if (this.said) this.said.textContent = this.#state === "live" ? live : text;
  }

  #keepUp() {
    if (this.box && this.said && !this.hasAttribute("ended")) fitToWindow(this.box, this.said);
    if (this.follow?.checked && this.box) {
      this.box.scrollTop = this.box.scrollHeight;
      showRunning();
    }
  }

  /** Stops following when the user scrolls up, and resumes at the end of the log. */
  #scrolled() {
    const { box, follow } = this;
    if (!box || !follow) return;
    const below = box.scrollHeight - box.clientHeight - box.scrollTop;
    if (below > 200 && follow.checked) {
      follow.checked = false;
      this.#isPaused = true;
    } else if (below < 5 && this.#isPaused) {
      follow.checked = true;
      this.#isPaused = false;
    }
  }

  /** A click on a line's number is a link to it. @param {MouseEvent} event */
  #clicked(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const number = target.dataset["line"];
    if (number === undefined) return;
    const { paddingLeft, fontSize } = getComputedStyle(target);
    const gutter = Number.parseFloat(paddingLeft) - Number.parseFloat(fontSize);
    if (event.clientX - target.getBoundingClientRect().left > gutter) return;
    location.hash = `L${number}`;
  }

  /**
   * `#L12` is a line and `#L12-L15` several, `#C345` is the chunk with which the log says something of a
   * resource, `#Ftext` the first line with this text.
   */
  #goToHash() {
    // Decodes any text, unlike decodeURIComponent.
    const text = new URLSearchParams(location.hash.slice(1).replace(/^F/, "F=")).get("F");
    if (text) return this.#find(text);
    const lines = this.#linesOf(location.hash);
    // Another try follows once more is written.
    if (lines.includes(undefined) && !this.#isOver) return;
    const [from, to] = lines;
    if (from) this.#go(from, Math.max(from, to || 0));
  }

  /** Returns the numbers of the lines that are there. @param {string} hash */
  #linesOf(hash) {
    const [, kind, ...numbers] = lineLink.exec(hash) ?? [];
    const known = numbers.filter(Boolean).map(Number);
    return known.map((number) => (kind === "C" ? this.#lineOf.get(number) : number));
  }

  /** Returns the last of the lines to which a link leads; empty if it is not there. @param {string} hash */
  lineAt(hash) {
    const number = this.#linesOf(hash).at(-1);
    return number === undefined ? "" : (this.lines?.textOf(number) ?? "");
  }

  /** Once all of the log is there. @param {string} text */
  #find(text) {
    const field = /** @type {HTMLInputElement | null} */ (this.querySelector("[name=find]"));
    if (!field || !this.#isOver) return;
    field.value = text;
    void this.search?.find(text);
  }

  #drawSoon() {
    if (this.#isDrawing || this.hasAttribute("ended")) return;
    this.#isDrawing = true;
    setTimeout(() => {
      this.#isDrawing = false;
      if (this.isConnected) this.dispatchEvent(new CustomEvent("progress", { bubbles: true }));
    }, drawMilliseconds);
  }

  /** Returns the element of the first line. @param {number} from @param {number} to */
  #go(from, to = from) {
    const line = this.lines?.mark(from, to);
    if (!line || !this.follow) return null;
    this.#isMarked = true;
    this.#isPaused = false;
    this.follow.checked = false;
    line.scrollIntoView({ block: "center" });
    return line;
  }
}

/**
 * Returns a function that scrolls the reader's line back to where it is now, after the lines have
 * got other heights: a marked line that is visible to the middle, else the first visible one to its
 * place.
 * @param {HTMLElement} box
 */
function placeKeeper(box) {
  const { top, bottom } = box.getBoundingClientRect();
  const marked = [...box.querySelectorAll(".marked")].find((one) => {
    const at = one.getBoundingClientRect();
    return at.bottom > top && at.top < bottom;
  });
  if (marked) return () => marked.scrollIntoView({ block: "center" });
  const seen = firstBelow(box, top);
  const lines = [...(seen?.children ?? [])];
  // The first that begins within the box. A line that fills the box begins above it.
  const begun = lines.find((line) => topOf(line) >= top - 1 && topOf(line) < bottom);
  const line = begun ?? lines.findLast((one) => topOf(one) < top) ?? seen;
  if (!line) return () => undefined;
  const below = begun ? topOf(begun) - top : 0;
  const keep = () => {
    if (line.isConnected) box.scrollTop += topOf(line) - topOf(box) - below;
  };
  return () => {
    keep();
    // Blocks above the box get their heights when they are drawn, in the next frame.
    requestAnimationFrame(() => requestAnimationFrame(keep));
  };
}

/** @param {Element} one */
const topOf = (one) => one.getBoundingClientRect().top;

/** Returns the first block that ends below this place. @param {HTMLElement} box @param {number} y */
const firstBelow = (box, y) =>
  [...box.querySelectorAll(":scope > .block, .body:not([hidden]) > .block")].find(
    (block) => block.getBoundingClientRect().bottom > y + 1,
  );

/** @param {number} code */
const isHalf = (code) => code >= 0xd800 && code < 0xdc00;

customElements.define("windlass-log", WindlassLog);
