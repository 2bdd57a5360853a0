/** What the forms of variables and environment make of a configuration or a variable set. */
import { parseExactly } from "../../../common/exact-json.ts";
import { UpdateConfiguration, type Variable } from "../../../protocol/configurations.ts";
import { EnvironmentName, VariableName } from "../../../protocol/values.ts";
import type { ValueMarks } from "../../domain/snapshot.ts";
import { isSecretName } from "../../domain/snapshot-values.ts";
import { parseJson } from "../../http/json-body.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { entriesOf, seenAs, type Entries, type Valued } from "./entries-view.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { isAt, refuseStale, type Form } from "../page/form.ts";
import { textOf } from "./outputs-view.ts";

const validateUpdate = validatorOf(UpdateConfiguration);
const validateName = {
  variables: validatorOf(VariableName, "body.name"),
  environment: validatorOf(EnvironmentName, "body.name"),
  backend_config: validatorOf(VariableName, "body.name"),
};

/** Whether what was typed is not to be shown again. */
export const isSecret = (thing: Valued, kind: Entries, form: Form): boolean =>
  form.isOn("sensitive") ||
  own(entriesOf(thing, kind), form.word("name"))?.sensitive === true ||
  isSecretName(kind, form.word("name"));

/** Throws what is wrong, by the names of the form's fields. */
export function entriesChange(
  thing: Valued,
  marks: ValueMarks,
  kind: Entries,
  form: Form,
): Pick<UpdateConfiguration, Entries> {
  const name = form.word("name");
  const known = thing[kind] ?? {};
  const isKnown = Object.hasOwn(known, name);
  if (form.text("do") === "set" && !isKnown)
    throw new RefusalError(
      "changed_meanwhile",
      `"${name}" was removed in another tab or by another user while you had it open: if you add it, it is there again`,
    );
  if (form.text("do") === "remove" && !isKnown) throw notFound("variable any more");
  if (form.text("do") === "add") validateName[kind](name);
  if (form.text("do") === "add" && isKnown)
    throw invalid("body.name", "already exists: change that entry instead");
  if (form.text("do") !== "add")
    refuseStale(form, seenAs(entriesOf(thing, kind)[name] ?? {}, kind, name, marks));
  // Without a value each keeps the one it has.
  const next = new Map<string, Variable>(Object.keys(known).map((one) => [one, {}]));
  if (form.text("do") === "remove") next.delete(name);
  else next.set(name, entry(own(entriesOf(thing, kind), name), kind, name, form));
  return byField(kind, name, () => validateUpdate({ [kind]: Object.fromEntries(next) }));
}

function entry(before: Variable | undefined, kind: Entries, name: string, form: Form): Variable {
  // A secret's name makes a new one sensitive also where the box was not ticked.
  const isNamedSecret = before === undefined && isSecretName(kind, name);
  const sensitive = form.isOn("sensitive") || isNamedSecret;
  const typed = form.text("value");
  const shown = before?.sensitive === true ? "" : textOf(before?.value).replaceAll("\r\n", "\n");
  if (before !== undefined && typed === shown) return { sensitive };
  return { value: kind === "variables" ? valueOf(typed, before) : typed, sensitive };
}

/** As the command line's `--var`: JSON is a list or a map, all else text; numbers stay numbers. */
function valueOf(typed: string, before: Variable | undefined): unknown {
  const { value } = before ?? {};
  const isPlain = typeof value === "number" || typeof value === "boolean" || value === null;
  if (isPlain && isExact(typed)) return JSON.parse(typed);
  if (!/^\s*[[{]/.test(typed)) return typed;
  try {
    const parsed = parseJson(Buffer.from(typed), { isExact: true });
    refuseLosses(typed);
    return parsed;
  } catch (error) {
    if (error instanceof RefusalError)
      throw invalid("body.value", `cannot be kept: ${error.message}`);
    // V8's message may quote what was typed, which may be a secret.
    const place = /position \d+/.exec((error as Error).message)?.[0];
    throw invalid(
      "body.value",
      `begins with ${typed.trim().charAt(0)} but is not valid JSON${place ? ` at ${place}` : ""}`,
    );
  }
}

/** Throws for a number in JSON that would become another one; without it, as it may be a secret. */
function refuseLosses(json: string): void {
  parseExactly(json, () => {
    throw new RefusalError(
      "malformed_json",
      "a number in it would lose digits: write it as text in double quotes, which terraform converts for a variable of type number",
    );
  });
}

/** False for 007 or twenty digits, which stay text so that terraform loses nothing. */
const isExact = (typed: string): boolean =>
  /^(true|false|null)$/.test(typed) || (/^-?\d/.test(typed) && String(Number(typed)) === typed);

/** What is wrong with the entry is wrong with the form's value, or with its name. */
function byField<T>(kind: Entries, name: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof RefusalError ? ofFields(error, kind, name) : error;
  }
}

/** The refusal of an entry, by the names of the form's fields. */
export function ofFields(refusal: RefusalError, kind: Entries, name: string): RefusalError {
  const { errors } = refusal.more;
  if (!errors) return refusal;
  const isValue = (path: string) => isAt(path, `${kind}.${name}`);
  const isOf = (path: string) => path === `body.${kind}`;
  const isForbidden = refusal.code === "forbidden_environment_name";
  return new RefusalError(refusal.code, refusal.message, {
    errors: errors.map(({ path, message }) => {
      if (isValue(path) && isForbidden) return { path: "body.name", message: `${name} ${message}` };
      return { path: isValue(path) ? "body.value" : isOf(path) ? "body.name" : path, message };
    }),
  });
}

const own = (variables: Readonly<Record<string, Variable>>, name: string): Variable | undefined =>
  Object.hasOwn(variables, name) ? variables[name] : undefined;
