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
    const field = /** @type {HTMLInputElement} */ (event.target);
    this.#wanted = field.value.trim().toLowerCase();
    this.#show();
  }

  #show() {
    this.querySelector(".tools")?.removeAttribute("hidden");
    for (const button of this.querySelectorAll(".plan-counts button")) {
      button.removeAttribute("disabled");
      button.setAttribute("aria-pressed", String(button.getAttribute("value") === this.#action));
    }
    const isFiltered = this.#wanted !== "" || this.#action !== "";
    let shown = 0;
    for (const row of this.querySelectorAll("[data-action]")) {
      const address = row.querySelector("[data-address]")?.getAttribute("data-address") ?? "";
      const text = `${address} ${row.textContent}`.toLowerCase();
      const isShown =
        (this.#action === "" || row.getAttribute("data-action") === this.#action) &&
        (this.#wanted === "" || text.includes(this.#wanted));
      row.toggleAttribute("hidden", !isShown);
      if (isShown) shown += 1;
    }
    for (const module of this.querySelectorAll(".module")) {
      const hasRows = module.querySelector("[data-action]:not([hidden])") !== null;
      module.toggleAttribute("hidden", !hasRows);
      if (isFiltered && hasRows) module.querySelector("details")?.setAttribute("open", "");
    }
    this.#say(isFiltered ? `${shown} shown` : "");
  }

  /** Opens all modules and resources, or closes them if they are open. */
  #unfold() {
    const all = [...this.querySelectorAll(".module > details, .resource")];
    const isOpen = all.every((one) => one.hasAttribute("open"));
    for (const one of all) one.toggleAttribute("open", !isOpen);
  }

  /** @param {MouseEvent} event */
  async #clicked(event) {
    const button = /** @type {HTMLElement} */ (event.target).closest("button");
    const text = this.querySelector(".markdown pre");
    if (button?.name === "unfold") this.#unfold();
    if (button?.name === "action") {
      this.#action = button.value === this.#action ? "" : button.value;
      this.#show();
    }
    if (button?.name !== "copy" || !text) return;
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
