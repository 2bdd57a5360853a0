/** The page of the people who operate the server. */
import { validate } from "uuid";
import { notFound } from "../../domain/refusal.ts";
import type { Context } from "../../services/context.ts";
import {
  blockPerson,
  checkOperator,
  listPeople,
  signOutPerson,
  unblockPerson,
} from "../../services/people/operators.ts";
import { sendPage } from "../page/layout.ts";
import type { SignedIn } from "../signed-in.ts";
import { operatorPage } from "./operator-page.ts";

/** People of a page. */
const shown = 50;

/** What is searched for is at most as long as an address. */
const textLimit = 254;

export function operatorPages(pages: SignedIn, context: Context): void {
  pages.get("/operator", "account", async (caller, { query }, reply) => {
    await checkOperator(context, context.store.read, caller);
    const { q, before } = query as Record<string, unknown>;
    const text = typeof q === "string" ? q.trim().slice(0, textLimit) : "";
    const from = typeof before === "string" && validate(before) ? before : undefined;
    const found = await listPeople(context, text, from, shown + 1);
    const people = found.slice(0, shown);
    const next = found.length > shown ? people.at(-1)?.id : undefined;
    const body = operatorPage({ people, reader: caller.user_id, text, next });
    sendPage(reply, { title: "People", body, email: caller.email });
  });
  const changes = { "sign-out": signOutPerson, block: blockPerson, unblock: unblockPerson };
  for (const [path, change] of Object.entries(changes))
    pages.post(`/operator/people/:user/${path}`, "account", async (caller, { params }, reply) => {
      const { user } = params as { user: string };
      if (!validate(user)) throw notFound("user");
      await change(context, caller, user.toLowerCase());
      reply.redirect("/operator", 303);
    });
}
