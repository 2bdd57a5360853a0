import type { UpdateConfiguration } from "../../../protocol/configurations.ts";
import type { UserCaller } from "../../services/callers.ts";
import type { ValueMarks } from "../../domain/snapshot.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { PageForms } from "../page-forms.ts";
import { formLimit } from "./configuration-form-routes.ts";
import { entriesChange, isSecret, ofFields } from "./entries-input.ts";
import type { Entries, Valued } from "./entries-view.ts";

/** What has the values, and how it is changed. */
interface EntriesOwner<T> {
  /** The address of the page with the forms. */
  readonly page: (thing: T) => string;
  readonly does: "updateConfiguration" | "updateVariableSet";
  readonly kinds: readonly Entries[];
  readonly update: (
    caller: UserCaller,
    thing: T,
    change: (now: Valued, marks: ValueMarks) => Pick<UpdateConfiguration, Entries>,
  ) => Promise<unknown>;
}

/** Adds one form for each kind. */
export function entriesForms<T extends Valued & { readonly id: string }>(
  page: PageForms<T>,
  { page: pathOf, does, kinds, update }: EntriesOwner<T>,
): void {
  for (const kind of kinds)
    page.form(kind, does, {
      path: `/${kind}`,
      bodyLimit: formLimit,
      again: (form, thing) =>
        isSecret(thing, kind, form) ? { ...form.fields, value: "" } : form.fields,
      submit: async ({ caller, thing, form }) => {
        try {
          await update(caller, thing, (now, marks) => entriesChange(now, marks, kind, form));
        } catch (error) {
          throw error instanceof RefusalError ? ofFields(error, kind, form.word("name")) : error;
        }
        return `${pathOf(thing)}#${kind}`;
      },
    });
}
