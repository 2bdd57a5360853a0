import { notFound, RefusalError } from "../../domain/refusal.ts";
import { allowsAddress, lowerCase } from "../../domain/sign-in-allow.ts";
import type { Queries } from "../../store/db.ts";
import { listAddressesOf } from "../../store/people/accounts.ts";
import {
  findByAddress,
  findPerson,
  listPeople as listRows,
  saveAdmission,
  type PersonRow,
} from "../../store/people/admission.ts";
import { findLogin } from "../../store/people/logins.ts";
import { asSystem } from "../../store/spaces.ts";
import { operator as shell, person, record, type Actor } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { time } from "../../domain/moments.ts";
import { findAdmission, signOut, type Admission } from "./admission.ts";

export interface ListedPerson {
  readonly id: string;
  readonly email: string;
  /** What permits the person; undefined: nothing, so that the logins end at their next renewal. */
  readonly admission: Admission | undefined;
  readonly sessions: number;
  readonly clients: number;
  readonly signed_in_at: string | null;
  readonly blocked_at: string | null;
}

type Listing = Pick<Context, "store" | "now" | "oidc" | "providers" | "signInAllow">;

/** A page of all people who are signed in or blocked, as the system. `text`: a part of the address. */
export const listPeople = (
  context: Listing,
  text: string,
  before: string | undefined,
  limit: number,
): Promise<ListedPerson[]> =>
  asSystem(async () => {
    const { read } = context.store;
    const rows = await listRows(read, { now: context.now(), text }, before, limit);
    return Promise.all(
      rows.map(async (row) => ({
        id: row.id,
        email: row.email,
        admission: await findAdmission(context, read, row),
        sessions: row.sessions,
        clients: row.clients,
        signed_in_at: row.last_login_at === null ? null : time(row.last_login_at),
        blocked_at: row.blocked_at === null ? null : time(row.blocked_at),
      })),
    );
  });

/** Whether WINDLASS_OPERATORS names a verified address of the caller. */
export const isOperator = (
  { operators }: Pick<Context, "operators">,
  queries: Queries,
  { user_id }: UserCaller,
): Promise<boolean> =>
  operators.length === 0
    ? Promise.resolve(false)
    : asSystem(async () => allowsAddress(operators, await listAddressesOf(queries, user_id)));

/** Throws 404 to everyone else: the page does not exist for them. */
export async function checkOperator(
  context: Pick<Context, "operators">,
  queries: Queries,
  caller: UserCaller,
): Promise<void> {
  if (!(await isOperator(context, queries, caller))) throw notFound("page");
}

export const signOutPerson = (context: Context, caller: UserCaller, user: string): Promise<void> =>
  change(context, caller, user, async (tx, found, by) => {
    await signOut(tx, found, { by }, context.now());
  });

/** Ends all logins of a user, and refuses sign-ins and access tokens until it is undone. */
export const blockPerson = (context: Context, caller: UserCaller, user: string): Promise<void> =>
  change(context, caller, user, async (tx, found, by) => {
    if (user === caller.user_id)
      throw new RefusalError("permission_denied", "You cannot block yourself");
    if (found.blocked_at !== null) return;
    await saveAdmission(tx, user, { blocked_at: context.now() });
    await signOut(tx, found, { by, action: "user.block" }, context.now());
  });

export const unblockPerson = (context: Context, caller: UserCaller, user: string): Promise<void> =>
  change(context, caller, user, async (tx, { email: name, blocked_at }, by) => {
    if (blocked_at === null) return;
    await saveAdmission(tx, user, { blocked_at: null });
    const entry = { action: "user.unblock", id: user, name } as const;
    await record(tx, { by, owner: user, ...entry }, context.now());
  });

async function change(
  context: Context,
  caller: UserCaller,
  user: string,
  work: (tx: Queries, found: PersonRow, by: Actor) => Promise<void>,
): Promise<void> {
  const { store, wakeups, now } = context;
  await asSystem(() =>
    store.write(async (tx) => {
      // The operator may have been signed out since the request was admitted.
      if (!(await tx.first(findLogin, { id: caller.login_id, now: now() })))
        throw new RefusalError("unauthenticated", "the login of this request has just ended");
      await checkOperator(context, tx, caller);
      const found = await findPerson(tx, user);
      if (!found) throw notFound("user");
      // Checked above; the entry is in the log of another user.
      const { admitted: _, ...by } = person(caller);
      await work(tx, found, by);
    }),
  );
  wakeups.notify("login", user);
}

/** A running server notices by itself. Returns the users and how many logins ended. */
export const signOutAddress = (
  { store, now }: Pick<Context, "store" | "now">,
  address: string,
): Promise<{ readonly email: string; readonly logins: number }[]> =>
  store.write(async (tx) => {
    const ended = [];
    for (const found of await findByAddress(tx, lowerCase(address)))
      ended.push({ email: found.email, logins: await signOut(tx, found, { by: shell }, now()) });
    return ended;
  });
