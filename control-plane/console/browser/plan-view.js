// @ts-check
/** `<windlass-plan>`: searches and filters the changes of a plan, and copies it as Markdown. */

class WindlassPlan extends HTMLElement {
  /** What the user looks for, in small letters, and the action that is shown. */
  #wanted = "";
  #action = "";
  #apply = () => this.#show();

  connectedCallback() {
    this.addEventListener("input", (event) => this.#changed(event));
    this.addEventListener("click", (event) => void this.#clicked(event));
    // The server's page, redrawn, has no filter.
    document.addEventListener("drawn", this.#apply);
    this.#show();
  }

  disconnectedCallback() {
    document.removeEventListener("drawn", this.#apply);
  }

  /** @param {Event} event */
  #changed(event) {
    const field = /** @type {HTMLInputElement | HTMLSelectElement} */ (event.target);
    if (field.name === "find") this.#wanted = field.value.trim().toLowerCase();
    else this.#action = field.value;
    this.#show();
  }

  #show() {
    const tools = this.querySelector(".tools");
    if (!tools) return;
    tools.removeAttribute("hidden");
    const isFiltered = this.#wanted !== "" || this.#action !== "";
    let shown = 0;
    for (const group of this.querySelectorAll(".group")) {
      let inGroup = 0;
      for (const row of group.querySelectorAll("[data-action]")) {
        const isShown =
          (this.#action === "" || row.getAttribute("data-action") === this.#action) &&
          (this.#wanted === "" || (row.textContent ?? "").toLowerCase().includes(this.#wanted));
        row.toggleAttribute("hidden", !isShown);
        if (isShown) inGroup += 1;
      }
      group.toggleAttribute("hidden", inGroup === 0);
      if (isFiltered && inGroup > 0) group.setAttribute("open", "");
      shown += inGroup;
    }
    this.#say(isFiltered ? `${shown} shown` : "");
  }

  /** @param {MouseEvent} event */
  async #clicked(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const text = this.querySelector(".markdown pre");
    if (target.getAttribute("name") !== "copy" || !text) return;
    try {
      // Only pages of https and of this machine have a clipboard.
      await navigator.clipboard.writeText(text.textContent ?? "");
      this.#say("Copied.");
    } catch {
      this.querySelector(".markdown")?.setAttribute("open", "");
      getSelection()?.selectAllChildren(text);
      this.#say("Selected: copy it with Ctrl+C or ⌘C.");
    }
  }

  /** @param {string} text */
  #say(text) {
    const said = this.querySelector("output");
    if (said) said.textContent = text;
  }
}

customElements.define("windlass-plan", WindlassPlan);
