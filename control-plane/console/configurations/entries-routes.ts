/** The forms of variables and environment, of a configuration or a variable set. */
import type { FastifyReply } from "fastify";
import type { UpdateConfiguration } from "../../../protocol/configurations.ts";
import type { UserCaller } from "../../services/callers.ts";
import type { ValueMarks } from "../../domain/snapshot.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { attempt, Form } from "../page/form.ts";
import type { Needs } from "../page-permissions.ts";
import type { SignedIn } from "../signed-in.ts";
import { formLimit } from "./configuration-form-routes.ts";
import { entriesChange, isSecret, ofFields } from "./entries-input.ts";
import type { Entries, RefusedEntry, Valued } from "./entries-view.ts";

/** What has the values, and how it is read, changed and shown. */
interface EntriesOwner<T> {
  /** Its page is at this address followed by its id. */
  readonly path: string;
  readonly needs: Needs;
  readonly kinds: readonly Entries[];
  readonly find: (caller: UserCaller, params: unknown) => Promise<T>;
  readonly update: (
    caller: UserCaller,
    thing: T,
    change: (now: Valued, marks: ValueMarks) => Pick<UpdateConfiguration, Entries>,
  ) => Promise<unknown>;
  readonly send: (
    reply: FastifyReply,
    caller: UserCaller,
    thing: T,
    refused: RefusedEntry,
  ) => Promise<void>;
}

export function entriesForms<T extends Valued & { readonly id: string }>(
  pages: SignedIn,
  { path, needs, kinds, find, update, send }: EntriesOwner<T>,
): void {
  for (const kind of kinds)
    pages.post(
      `${path}/:id/${kind}`,
      needs,
      async (caller, { params, body }, reply) => {
        const thing = await find(caller, params);
        const typed = new Form(body);
        const shown = isSecret(thing, kind, typed) ? { ...typed.fields, value: "" } : body;
        const form = await attempt(
          shown,
          async () => {
            const change = (now: Valued, marks: ValueMarks) =>
              entriesChange(now, marks, kind, typed);
            await update(caller, thing, change).catch((error: unknown) => {
              throw error instanceof RefusalError
                ? ofFields(error, kind, typed.word("name"))
                : error;
            });
            reply.redirect(`${path}/${thing.id}#${kind}`, 303);
          },
          `${kind}-refused`,
        );
        if (form) await send(reply, caller, thing, { kind, form });
      },
      { bodyLimit: formLimit },
    );
}
