/**
 * Whether a person may still use this server. WINDLASS_SIGN_IN_ALLOW is checked at each renewal of a
 * session and each refresh of a client's tokens, because an entry may be removed, and a person may
 * leave a group.
 */
import { day, hour } from "../../../common/units.ts";
import { isOidc, providerOf } from "../../domain/providers.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { entryOf, findAllowing, findOidcRule } from "../../domain/sign-in-allow.ts";
import type { Queries } from "../../store/db.ts";
import type { AccountRow } from "../../store/people/accounts.ts";
import { findAnswered } from "../../store/people/provider-sessions.ts";
import {
  endLoginsOf,
  findPerson,
  listAccountRows,
  saveAdmission,
  takeQuestion,
  type PersonRow,
} from "../../store/people/admission.ts";
import { record, system, type AuditRecord } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { accountToken, saveVerified } from "./accounts.ts";
import { personOf } from "./provider-person.ts";
import { findGroup, groupsOf } from "./sign-in-allow.ts";

/** How long an answer of a provider counts, in milliseconds. */
const askMilliseconds = hour;
/** How long logins are kept while no provider answers, in milliseconds. */
const unansweredMilliseconds = day;

export interface Admission {
  readonly by: "link" | "address" | "group" | "invitation";
  /** The entry of WINDLASS_SIGN_IN_ALLOW, or the team; empty for a link. */
  readonly name: string;
}

export function admissionText(admission: Admission | undefined): string {
  switch (admission?.by) {
    case "link":
      return "login link";
    case "address":
      return `address rule ${admission.name}`;
    case "group":
      return `group rule ${admission.name}`;
    case "invitation":
      return `invitation to the team ${admission.name}`;
    case undefined:
      return "nothing, so the logins end soon";
  }
}

/** Without asking a provider. A group is the one that permitted the person last. */
export async function findAdmission(
  context: Pick<Context, "providers" | "signInAllow" | "oidc" | "now">,
  queries: Queries,
  person: PersonRow,
): Promise<Admission | undefined> {
  if (person.link_email !== null) return { by: "link", name: "" };
  const accounts = await offeredAccounts(context, queries, person.id);
  const rule = findAllowing(context.signInAllow, accounts.flatMap(addressesOf));
  if (rule) return { by: "address", name: entryOf(rule) };
  for (const account of accounts) {
    const { name } = providerOf(context.providers, account)!;
    const allowing =
      isOidc(name) && findOidcRule(context.signInAllow, name, groupsOfAccount(account));
    // The provider is asked by session (provider-sessions.ts). Without one that goes on, what it said
    // of the person counts no longer, also for logins that came from elsewhere.
    const { host, subject } = account;
    const since = context.now() - context.oidc.unanswered;
    if (allowing && (await queries.first(findAnswered, { host, subject, since })))
      return { by: "address", name: entryOf(allowing) };
  }
  if (person.invited_to !== null) return { by: "invitation", name: person.invited_to };
  const group = person.allowed_group;
  const isRule = context.signInAllow.some((one) => entryOf(one) === group);
  return group !== null && isRule ? { by: "group", name: group } : undefined;
}

/**
 * Whether a person may stay signed in. Ends all logins of one who may not.
 *
 * Providers are asked at most once an hour. Only the request that asked decides by their answers;
 * others go on meanwhile, so that of many requests at once none ends the logins of a person whose
 * answer is still to come.
 */
export async function mayStay(context: Context, user: string): Promise<boolean> {
  const { store, now } = context;
  const person = await findPerson(store.read, user);
  if (!person) return false;
  const admission = await findAdmission(context, store.read, person);
  if (admission && admission.by !== "group") return true;
  const accounts = await offeredAccounts(context, store.read, user);
  const asked = accounts.filter(
    (account) =>
      account.provider !== "oidc" &&
      (account.verified === null || groupsOf(context.signInAllow, account.provider).length > 0),
  );
  if (asked.length === 0) return endUnless(context, person, person.asked_at);
  const at = now();
  if (person.asked_at !== null && person.asked_at > at - askMilliseconds) return true;
  const before = at - askMilliseconds;
  if (!(await store.write((tx) => takeQuestion(tx, { user, now: at, before })))) return true;
  const answers = await Promise.allSettled(asked.map((account) => askAbout(context, account)));
  for (const answer of answers)
    if (answer.status === "rejected" && !(answer.reason instanceof RefusalError))
      throw answer.reason;
  const allowed_group = answers.flatMap(
    (one) => (one.status === "fulfilled" && one.value) || [],
  )[0];
  if (allowed_group !== undefined) {
    await store.write((tx) => saveAdmission(tx, user, { allowed_group, unanswered_since: null }));
    return true;
  }
  if (answers.some(({ status }) => status === "rejected")) {
    const unanswered_since = person.unanswered_since ?? at;
    await store.write((tx) => saveAdmission(tx, user, { unanswered_since }));
    if (unanswered_since > at - unansweredMilliseconds) return true;
  }
  return endUnless(context, person, at);
}

/** The permitting group; undefined: none. Throws if the provider gives no answer. */
async function askAbout(context: Context, account: AccountRow): Promise<string | undefined> {
  const found = providerOf(context.providers, account);
  if (!found) return undefined;
  const { name: provider, settings } = found;
  const { subject } = account;
  const token = await accountToken(context, account);
  if (account.verified === null) {
    const tokens = {
      access_token: token,
      refresh_token: undefined,
      expires_in: undefined,
      subject,
    };
    const { verified } = await personOf(provider, settings, tokens);
    await saveVerified(context, account, verified);
  }
  return findGroup(context.signInAllow, provider, settings, { subject, token });
}

/**
 * Ends the logins of a person, unless something permits the person after all, or a sign-in has asked
 * since. Returns whether the person may stay.
 */
async function endUnless(
  context: Context,
  { id: user }: PersonRow,
  askedAt: number | null,
): Promise<boolean> {
  const { store, now, wakeups } = context;
  const stays = await store.write(async (tx) => {
    const person = await findPerson(tx, user);
    if (!person) return false;
    const admission = await findAdmission(context, tx, person);
    if ((admission && admission.by !== "group") || person.asked_at !== askedAt) return true;
    await saveAdmission(tx, user, { allowed_group: null, unanswered_since: null });
    await signOut(tx, person, { by: system, details: { reason: "not_permitted" } }, now());
    return false;
  });
  if (!stays) wakeups.notify("login", user);
  return stays;
}

/** Ends all logins of a person, in a transaction. The caller notifies "login" after the commit. */
export async function signOut(
  tx: Queries,
  person: Pick<PersonRow, "id" | "email" | "link_email">,
  {
    by,
    action = "user.sign_out",
    details = {},
  }: Pick<AuditRecord, "by" | "details"> & {
    readonly action?: AuditRecord["action"];
  },
  now: number,
): Promise<number> {
  const logins = await endLoginsOf(tx, person, now);
  const { id, email: name } = person;
  await record(tx, { by, owner: id, action, id, name, details: { ...details, logins } }, now);
  return logins;
}

/** The accounts with which the person could sign in now. */
async function offeredAccounts(
  { providers }: Pick<Context, "providers">,
  queries: Queries,
  user: string,
): Promise<AccountRow[]> {
  const accounts = await listAccountRows(queries, user);
  return accounts.filter((account) => providerOf(providers, account) !== undefined);
}

const groupsOfAccount = ({ groups }: AccountRow): string[] =>
  JSON.parse(groups ?? "[]") as string[];

const addressesOf = ({ verified, email }: AccountRow): string[] =>
  verified === null ? [email] : (JSON.parse(verified) as string[]);
