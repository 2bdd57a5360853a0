/** `/design`, of a checkout only: every part of which the pages are made. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { door } from "./page/door.ts";
import { commandLine } from "./page/empty.ts";
import { html, type Html } from "./page/html.ts";
import { iconNames } from "./page/icon-names.ts";
import { icon } from "./page/icons.ts";
import { row } from "./page/rare.ts";
import { table } from "./page/table.ts";
import { tabs } from "./page/tabs.ts";
import { badge, statuses } from "./page/words.ts";

const tokens = readFileSync(join(import.meta.dirname, "tokens.css"), "utf8");
const namesIn = (pattern: RegExp): string[] =>
  [...tokens.matchAll(pattern)].map(([, name]) => name!);

/** Presentation attributes, because the pages permit no inline style. */
const swatch = (name: string): Html =>
  html`<svg width="120" height="64" role="img" aria-label="${name}">
    <rect width="110" height="40" rx="6" fill="var(--${name})" stroke="var(--line)"></rect>
    <text y="58" font-size="12" fill="var(--text)">${name}</text>
  </svg>`;

export const designPage = (): Html =>
  html`<h1>Design</h1>
    <h2>Colours</h2>
    ${namesIn(/--([\w-]+): light-dark/g).map(swatch)}
    <h2>Type</h2>
    ${namesIn(/--text-(\w+):/g).map(
      (size) =>
        html`<p>
          <svg width="640" height="40" role="img" aria-label="${size}">
            <text y="28" font-size="var(--text-${size})" fill="var(--text)">
              ${size}: 0123456789 Terraform
            </text>
          </svg>
        </p>`,
    )}
    <p><code>aws_instance.web["eu-1"]</code></p>
    <h2>Statuses</h2>
    <p class="badges">${statuses.map((status) => badge(status))}</p>
    <h2>Icons</h2>
    <p>${iconNames.map((name) => html`${icon(name)} `)} ${icon("mark")}</p>
    <h2>Buttons</h2>
    <p class="actions">
      <button type="button">Plan</button> <button type="button" class="quiet">Cancel</button>
      <button type="button" class="danger">Destroy</button>
      <button type="button" disabled>Needs a role</button>
    </p>
    <h2>Messages</h2>
    <p class="error">An error, and what to do next.</p>
    <p class="notice">A notice.</p>
    <p class="soft">Text of less weight, with <a href="/design">a link</a>.</p>
    <h2>Tabs</h2>
    ${tabs("Parts of the sample", "/design", [
      { path: "/design", name: "Changes", count: 12 },
      { path: "/design#log", name: "Log" },
    ])}
    <h2>Table</h2>
    ${table(
      "Sample",
      ["Name", "Status"],
      [
        ["network", badge("SUCCESS")],
        ["payments", badge("FAILED")],
      ],
    )}
    <h2>What is rare</h2>
    <div class="rare">
      ${row(
        { id: "rare", title: "Rename" },
        "What it does, or why it cannot be done.",
        html`<button type="button" class="quiet">Rename</button>`,
      )}
    </div>
    <h2>One thing to do</h2>
    ${door(
      { sign: "terminal", title: "A question?", text: "One sentence of what this is." },
      html`<div class="ways"><a class="button" href="/design">The way on</a></div>`,
      commandLine("windlass up"),
    )}
    <h2>Fields</h2>
    <form class="form" method="get" action="/design">
      <div class="field">
        <label for="name">Name</label><input id="name" name="name" />
        <span class="hint">A hint.</span>
      </div>
      <label class="tick"><input type="checkbox" /> <span>A box to tick</span></label>
    </form>`;
