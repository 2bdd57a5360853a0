/** Forms, redrawn after an error with the entered values and the messages. */
import { hash } from "node:crypto";
import { problemCodes } from "../../../protocol/problem.ts";
import { RefusalError } from "../../domain/refusal.ts";

/** The fields of a form, as submitted or with their initial values. */
export class Form {
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
  readonly refusal: RefusalError | undefined;

  /** Tells its fields from those of the page's other forms. */
  readonly id: string;

  constructor(fields: unknown = {}, refusal?: RefusalError, id = "f") {
    this.fields = (fields ?? {}) as Form["fields"];
    this.refusal = refusal;
    this.id = id;
  }

  /** Every value of this name, with the line ends of a file and not those of a form. */
  all(name: string): string[] {
    const given = Object.hasOwn(this.fields, name) ? this.fields[name] : undefined;
    return [given ?? []].flat().map((text) => text.replaceAll("\r\n", "\n"));
  }

  /** The first value, or nothing. */
  text(name: string): string {
    return this.all(name)[0] ?? "";
  }

  /** Without what stands around it by mistake. */
  word(name: string): string {
    return this.text(name).trim();
  }

  /** The lines of a text that are not empty. */
  linesOf(name: string): string[] {
    return this.text(name)
      .split("\n")
      .map((one) => one.trim())
      .filter((one) => one !== "");
  }

  isOn(name: string): boolean {
    return this.text(name) === "on";
  }

  /** What is wrong with the field of the API at this path, in words. */
  wrong(path: string): string | undefined {
    const { errors = [] } = this.refusal?.more ?? {};
    const found = errors.find((one) => isAt(one.path, path));
    return found?.message;
  }

  /** The status of an answer that shows it. */
  get status(): number {
    return this.refusal === undefined ? 200 : problemCodes[this.refusal.code][0];
  }
}

/** Returns a form of a page: the one that was refused, or a new one with these fields. */
export type FormsOf = (name: string, fields?: Form["fields"]) => Form;

export const newForm: FormsOf = (name, fields) => new Form(fields, undefined, name);

/** Returns the refused form to show again; rethrows any other error. */
export async function attempt(
  fields: unknown,
  work: () => Promise<void>,
  id?: string,
): Promise<Form | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof RefusalError) return new Form(fields, error, id);
    throw error;
  }
}

/** A form carries this mark in `seen`, to notice that the resource changed meanwhile. */
export const markOf = (thing: unknown): string =>
  hash("sha256", JSON.stringify(thing) ?? "", "base64url").slice(0, 16);

/** Saving a stale form would undo another user's change. */
export function refuseStale(form: Form, now: unknown): void {
  if (form.text("seen") === "" || form.text("seen") === markOf(now)) return;
  throw new RefusalError(
    "changed_meanwhile",
    "this was changed in another tab or by another user while you had it open: check the current values; if you save again, your entries replace them",
  );
}

/** Whether a problem lies at a path or below it. */
export const isAt = (path: string, at: string): boolean =>
  path === `body.${at}` || path.startsWith(`body.${at}.`);
