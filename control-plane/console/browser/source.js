// @ts-check
/**
 * The source of a configuration: more files than the form began with, and an archive that is
 * uploaded as it is chosen.
 */

import { terraformDirectories } from "./archive-files.js";

const limit = 52_428_800;
const files = document.getElementById("files");
const more = document.getElementById("add-file");
const upload = document.getElementById("upload");
const chosen = document.getElementById("archive");
const digest = document.querySelector('input[name="sha256"]');
const said = upload?.querySelector("[role=status]");

// Without a script there is always an empty one; with one it comes when it is asked for.
const blank = files?.lastElementChild?.cloneNode(true);
if (files && files.childElementCount > 1) files.lastElementChild?.remove();
more?.removeAttribute("hidden");
more?.addEventListener("click", () => {
  const next = blank?.cloneNode(true);
  if (!(next instanceof HTMLElement) || !files) return;
  for (const one of next.querySelectorAll("[id], [for]"))
    for (const name of ["id", "for"]) {
      const value = one.getAttribute(name);
      if (value) one.setAttribute(name, value.replace(/\d+$/, String(files.childElementCount)));
    }
  files.append(next);
  next.querySelector("input")?.focus();
});

upload?.removeAttribute("hidden");
chosen?.addEventListener("change", () => {
  const file = chosen instanceof HTMLInputElement ? chosen.files?.[0] : undefined;
  if (file) void send(file);
});

/** Whose archive it is; a personal one without a team. */
const { team } = document.querySelector("main")?.dataset ?? {};

let uploading = new AbortController();

const wantedDirectory = document.querySelector('input[name="working_directory"]');
const engine = document.querySelector('select[name="engine"]');
const missing = upload?.querySelector(".wrong");
/** @type {Map<string, boolean> | undefined} */
let directories;
for (const field of [wantedDirectory, engine]) field?.addEventListener("change", warn);

/** Warns if a job would find no terraform files in the archive: it would fail. */
function warn() {
  if (!missing) return;
  const parts = (wantedDirectory instanceof HTMLInputElement ? wantedDirectory.value : "")
    .trim()
    .split("/");
  const wanted = parts.filter((part) => part !== "" && part !== ".").join("/") || ".";
  const isTofu = engine instanceof HTMLSelectElement && engine.value === "opentofu";
  const found = [...(directories ?? [])].filter(([, isRead]) => isRead || isTofu);
  const others = found.map(([directory]) => (directory === "." ? "the top directory" : directory));
  missing.textContent =
    directories === undefined || found.some(([directory]) => directory === wanted)
      ? ""
      : `The archive has no .tf files in ${wanted === "." ? "its top directory" : wanted}, so jobs would fail. ${
          others.length === 0
            ? "It has none in other directories either."
            : `It has some in ${others.slice(0, 3).join(", ")}: check the working directory.`
        }`;
}

/** Takes away what was wrong with an empty field. @param {HTMLInputElement} field @param {string} text */
function fill(field, text) {
  field.value = text;
  field.removeAttribute("aria-invalid");
  field.closest(".field")?.querySelector(".wrong")?.remove();
}

/** @param {File} file */
async function send(file) {
  if (!said || !(digest instanceof HTMLInputElement)) return;
  // The file that was chosen last is the one that is meant, even if a former one arrives after it.
  uploading.abort();
  const { signal } = (uploading = new AbortController());
  digest.value = "";
  directories = undefined;
  warn();
  if (file.size > limit) {
    said.textContent = "The archive is larger than 50 MiB, the limit of an upload.";
    return;
  }
  said.textContent = `Uploading ${file.name}…`;
  try {
    const answer = await fetch("/api/cli/archives", {
      method: "POST",
      headers: { "content-type": "application/gzip", ...(team ? { "windlass-team": team } : {}) },
      body: file,
      signal,
    });
    const body = await answer.json();
    if (answer.ok) fill(digest, body.sha256);
    said.textContent = answer.ok
      ? `${file.name} is uploaded.`
      : `The upload was refused: ${body.detail ?? body.title}.`;
    if (!answer.ok) return;
    const found = await terraformDirectories(file.stream());
    if (signal.aborted) return;
    directories = found;
    warn();
  } catch {
    if (signal.aborted) return;
    said.textContent = "The server cannot be reached. Choose the file again.";
  }
}
