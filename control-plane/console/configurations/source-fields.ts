/** Where terraform files come from, to be chosen and filled in. */
import { inlineFileCount } from "../../../protocol/configurations.ts";
import { columns, line, sentence, tick } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { unnamedFile } from "./configuration-input.ts";

const kinds = [
  ["git", "Git repository"],
  ["inline", "Files written here"],
  ["archive", "Archive (.tar.gz)"],
] as const;

/** Only the fields of the chosen kind show; the style sheet does that. */
export const sourceFields = (form: Form): Html =>
  html`<fieldset class="source">
    <legend>Source</legend>
    <div class="kinds">
      ${kinds.map(
        ([kind, name]) =>
          html`<label class="tick"
            ><input
              type="radio"
              name="source"
              value="${kind}"
              autocomplete="off"
              ${form.text("source") === kind ? html`checked` : null}
            />
            <span>${name}</span></label
          >`,
      )}
    </div>
    <div class="of-git">
      ${line(form, {
        name: "url",
        path: "source.url",
        label: "Repository",
        placeholder: "https://git.example.com/team/infrastructure.git",
        hint: "An address that the runner can read.",
      })}
      ${columns(
        line(form, {
          name: "ref",
          path: "source.ref",
          label: "Branch, tag or commit",
          hint: "Empty: the default branch.",
        }),
        line(form, {
          name: "path",
          path: "source.path",
          label: "Directory",
          hint: "Empty: the top of the repository.",
        }),
      )}
      ${tick(form, "submodules", "Fetch the submodules too")}
    </div>
    <div class="of-inline">${files(form)}</div>
    <div class="of-archive">
      <div class="field" id="upload" hidden>
        <label for="archive">Upload a .tar.gz</label>
        <input type="file" id="archive" accept=".gz,.tgz,application/gzip" autocomplete="off" />
        <span class="hint" role="status"></span>
        <span class="wrong" role="status"></span>
      </div>
      ${line(form, {
        name: "sha256",
        path: "source.sha256",
        label: "SHA-256 of an uploaded archive",
        hint: html`An upload fills this in.
          <code>windlass configurations create --dir</code> uploads an archive too.`,
      })}
    </div>
  </fieldset>`;

const files = (form: Form): Html => {
  const texts = form.all("file_text");
  const typed = form
    .all("file_path")
    .map((path, index) => ({ path, text: texts[index] ?? "" }))
    .filter(({ path, text }) => path !== "" || text !== "")
    .slice(0, inlineFileCount);
  const removed = new Set(form.all("file_removed"));
  const wrong = form.wrong("source.files");
  const named = typed.filter(({ path }) => wrong?.includes(`"${path || unnamedFile}"`));
  const shown = [...typed, { path: "", text: "" }];
  const isWrong = (one: (typeof shown)[number]): boolean =>
    wrong !== undefined && (named.length > 0 ? named.includes(one) : one === shown[0]);
  return html`${wrong === undefined ? null : html`<p class="wrong" id="files-wrong">${sentence(wrong)}</p>`}
    <div id="files">
      ${shown.map((one, index) => file(one, index, removed.has(one.path), isWrong(one)))}
    </div>
    <button type="button" class="quiet" id="add-file" hidden>Add a file</button> `;
};

const file = (
  { path, text }: { readonly path: string; readonly text: string },
  index: number,
  isRemoved: boolean,
  isWrong: boolean,
): Html =>
  html`<div class="file">
    <div class="field">
      <label for="file-path-${index}">Path</label>
      <input
        id="file-path-${index}"
        name="file_path"
        value="${path}"
        placeholder="${unnamedFile}"
        ${isWrong ? html`aria-invalid="true" aria-describedby="files-wrong"` : null}
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
      />
    </div>
    <div class="field">
      <label for="file-text-${index}">Text</label>
      <textarea
        id="file-text-${index}"
        name="file_text"
        rows="${Math.min(20, Math.max(6, text.split("\n").length + 1))}"
        maxlength="1048576"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
      >
${text}</textarea>
    </div>
    ${
      path === ""
        ? null
        : html`<label class="tick"
            ><input
              type="checkbox"
              name="file_removed"
              value="${path}"
              autocomplete="off"
              ${isRemoved ? html`checked` : null}
            />
            <span>Remove <code>${path}</code></span></label
          >`
    }
  </div>`;
