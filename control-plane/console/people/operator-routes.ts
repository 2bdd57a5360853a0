/** The page of the people who operate the server. */
import type { Context } from "../../services/context.ts";
import {
  blockPerson,
  checkOperator,
  listPeople,
  signOutPerson,
  unblockPerson,
} from "../../services/people/operators.ts";
import { idIn, readList } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { operatorPage } from "./operator-page.ts";

/** People of a page. */
const shown = 50;

/** What is searched for is at most as long as an address. */
const textLimit = 254;

export function operatorPages(pages: SignedIn, context: Context): void {
  pages.get("/operator", "account", async (caller, { query }) => {
    await checkOperator(context, context.store.read, caller);
    const { q } = query as Record<string, unknown>;
    const text = typeof q === "string" ? q.trim().slice(0, textLimit) : "";
    const { items: people, next } = await readList(query, shown, (before, limit) =>
      listPeople(context, text, before, limit),
    );
    return { title: "People", body: operatorPage({ people, reader: caller.user_id, text, next }) };
  });
  const changes = { "sign-out": signOutPerson, block: blockPerson, unblock: unblockPerson };
  for (const [path, change] of Object.entries(changes))
    pages.post(`/operator/people/:user/${path}`, "account", async (caller, { params }) => {
      await change(context, caller, idIn(params, "user", "user"));
      return "/operator";
    });
}
