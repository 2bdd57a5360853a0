/** Between the form of a configuration and the API's fields, both ways. */
import { isDeepStrictEqual } from "node:util";
import {
  ArchiveSource,
  GitSource,
  inlineFileCount,
  InlineSource,
  type Configuration,
  type CreateConfiguration,
  type Source,
  type UpdateConfiguration,
} from "../../../protocol/configurations.ts";
import { Name } from "../../../protocol/fields.ts";
import { timeoutSecondsDefault } from "../../../protocol/limits.ts";
import { invalid, RefusalError } from "../../domain/refusal.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import type { Entries } from "./entries-view.ts";
import { Form } from "../page/form.ts";

export const emptyFields = {
  source: "git",
  engine: "terraform",
  backend: "",
  timeout_seconds: String(timeoutSecondsDefault),
};

export function fieldsOf(configuration: Configuration): Form["fields"] {
  const { source } = configuration;
  const { project_name, name } = configuration;
  return {
    name,
    zone_id: configuration.zone_id,
    project_name: project_name === name ? "" : project_name,
    engine: configuration.engine ?? "terraform",
    engine_version: configuration.engine_version ?? "",
    labels: configuration.labels.join(" "),
    cloud_identity_id: configuration.cloud_identity_id ?? "",
    working_directory: configuration.working_directory ?? "",
    backend: configuration.backend ?? "",
    var_files: (configuration.var_files ?? []).join("\n"),
    parallelism: String(configuration.parallelism ?? ""),
    timeout_seconds: String(configuration.timeout_seconds ?? timeoutSecondsDefault),
    source: source.type,
    submodules: configuration.submodules === true ? "on" : "",
    ...(source.type === "git"
      ? { url: source.url, ref: source.ref ?? "", path: source.path ?? "" }
      : {}),
    ...(source.type === "archive" ? { sha256: source.sha256 } : {}),
    ...(source.type === "inline"
      ? { file_path: Object.keys(source.files), file_text: Object.values(source.files) }
      : {}),
  };
}

/** What a filled-in form makes. */
export type Described = Omit<CreateConfiguration, "zone_id" | Entries>;

/**
 * The API's fields of a form; throws what is wrong with them. Words of fixed lists are left to the
 * schemas of the API.
 */
export const described = (form: Form): Described => ({
  name: form.word("name"),
  ...projectNameOf(form),
  source: sourceOf(form),
  engine: form.text("engine") as NonNullable<CreateConfiguration["engine"]>,
  engine_version: form.word("engine_version") || null,
  labels: form
    .text("labels")
    // More than 32 are refused. As many as a form can hold would take seconds to validate.
    .split(/[\s,]+/, 100)
    .filter(Boolean),
  cloud_identity_id: form.text("cloud_identity_id") || null,
  working_directory: form.word("working_directory"),
  submodules: form.isOn("submodules"),
  var_files: form
    .text("var_files")
    .split("\n", 100)
    .map((path) => path.trim())
    .filter(Boolean),
  parallelism: form.word("parallelism") === "" ? null : Number(form.word("parallelism")),
  backend: (form.text("backend") || null) as NonNullable<CreateConfiguration["backend"]> | null,
  timeout_seconds: Number(form.word("timeout_seconds") || timeoutSecondsDefault),
});

const validateName = validatorOf(Name);

/** Without one of its own, it is the name, unless that is not valid: then only the name is wrong. */
function projectNameOf(form: Form): Pick<Described, "project_name"> {
  const [own, name] = [form.word("project_name"), form.word("name")];
  if (own !== "") return { project_name: own };
  return isValid(() => validateName(name)) ? { project_name: name } : {};
}

const sourceValidators = {
  git: validatorOf(GitSource, "body.source"),
  archive: validatorOf(ArchiveSource, "body.source"),
  inline: validatorOf(InlineSource, "body.source"),
};

/** Validated as its own kind: the errors of all kinds would name fields of the others. */
function sourceOf(form: Form): Source {
  const type = form.text("source");
  switch (type) {
    case "git": {
      const [ref, path] = [form.word("ref"), form.word("path")];
      const more = { ...(ref ? { ref } : {}), ...(path ? { path } : {}) };
      return sourceValidators.git({ type, url: form.word("url"), ...more });
    }
    case "archive": {
      const sha256 = form.word("sha256").toLowerCase();
      if (sha256 === "") throw invalid("body.source.sha256", "is missing: upload an archive first");
      return sourceValidators.archive({ type, sha256 });
    }
    case "inline":
      return sourceValidators.inline({ type, files: filesOf(form) });
    default:
      throw invalid("body.source", "must be git, inline or archive");
  }
}

/** The path of a file whose field is left empty. */
export const unnamedFile = "main.tf";

function filesOf(form: Form): Record<string, string> {
  const texts = form.all("file_text");
  const removed = new Set(form.all("file_removed"));
  const files = new Map<string, string>();
  for (const [index, typed] of form.all("file_path").entries()) {
    const text = texts[index] ?? "";
    if (removed.has(typed) || (typed.trim() === "" && text === "")) continue;
    // The field shows this name while it is empty.
    const path = typed.trim() || unnamedFile;
    if (files.size === inlineFileCount)
      throw invalid("body.source.files", `at most ${inlineFileCount} files are allowed`);
    if (!canBe(path))
      throw invalid(
        "body.source.files",
        `"${path}" is not a valid path: write it relative to the top directory, such as modules/a.tf`,
      );
    if (files.has(path)) throw invalid("body.source.files", `two files have the path "${path}"`);
    files.set(path, text);
  }
  if (files.size === 0) throw invalid("body.source.files", "add at least one file");
  return Object.fromEntries(files);
}

/** The schema knows which paths are taken; of many it would not say which one is not. */
const canBe = (path: string): boolean =>
  isValid(() => sourceValidators.inline({ type: "inline", files: { [path]: "" } }));

function isValid(validate: () => unknown): boolean {
  try {
    validate();
    return true;
  } catch (error) {
    if (error instanceof RefusalError) return false;
    throw error;
  }
}

/** Only what the form changes, so that the audit log says no more than that. */
export function changeOf(form: Form, before: Configuration): UpdateConfiguration {
  const shown = seenAs(before);
  const wanted = { ...described(form), zone_id: form.text("zone_id") };
  const known: Record<string, unknown> = { ...shown, zone_id: before.zone_id };
  return Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => !isDeepStrictEqual(value, known[name])),
  );
}

/**
 * Nothing, of what the API has taken and no form would, such as an address of spaces: then all of
 * the form is a change.
 */
function seenAs(known: Configuration): Partial<Described> {
  try {
    return described(new Form(fieldsOf(known)));
  } catch (error) {
    if (error instanceof RefusalError) return {};
    throw error;
  }
}
