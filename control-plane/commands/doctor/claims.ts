/**
 * `windlass server doctor --oidc`: a sign-in that changes nothing, to show what a provider says of a
 * person and what that gives. The browser comes back to the registered address of the server; the
 * person copies that address to the terminal. So it works behind a proxy, while the server runs and
 * while it does not, and nothing is stored.
 */
import { accessWords } from "../../domain/roles.ts";
import { createInterface } from "node:readline/promises";
import { escaped, withVisibleDirections } from "../../../common/control-sequences.ts";
import { finding, ok, type Finding } from "../../../common/doctor/finding.ts";
import type { ServerConfig } from "../../config.ts";
import {
  accountsOf,
  titleOf,
  type OidcName,
  type ProviderSettings,
} from "../../domain/providers.ts";
import { groupLimits, leavesGroupsOut, valueAt, type Claims } from "../../domain/oidc-claims.ts";
import { allowsAddress, entryOf, findOidcRule } from "../../domain/sign-in-allow.ts";
import {
  authorization,
  checkPrefix,
  discovered,
  exchangeCode,
  userInfo,
  type ProviderTokens,
} from "../../services/people/oauth-client.ts";
import { oidcPerson } from "../../services/people/provider-person.ts";
import { isFull, membershipsByGroups } from "../../services/teams/group-members.ts";
import { findAccount } from "../../store/people/accounts.ts";
import { findPerson } from "../../store/people/admission.ts";
import { findMember } from "../../store/teams/members.ts";
import { findTeam } from "../../store/teams/teams.ts";
import type { Store } from "../../store/db.ts";

/** Characters of a claim that are shown. */
const shownLength = 400;

/** Asks on the terminal, and yields what the provider has said. */
export async function* claimChecks(
  config: ServerConfig,
  { name, settings, server }: { name: OidcName; settings: ProviderSettings; server: string },
  withStore: (work: (store: Store) => Promise<void>) => Promise<void>,
): AsyncGenerator<Finding> {
  let tokens: ProviderTokens;
  try {
    tokens = await signIn(config, name, settings, `${server}/api/auth/callback`);
  } catch (error) {
    yield finding("sign-in", "failed", (error as Error).message);
    return;
  }
  const claims = tokens.claims ?? {};
  const info = await userInfoOf(name, settings, tokens);
  if ("failed" in info) yield info.failed;
  const more = "claims" in info ? info.claims : {};
  for (const [key, value] of Object.entries(claims))
    yield ok("claim", `${plain(key)}: ${shown(value)}`);
  for (const [key, value] of Object.entries(more))
    if (JSON.stringify(claims[key]) !== JSON.stringify(value))
      yield ok("claim", `${plain(key)}: ${shown(value)} (user info)`);
  let person: Awaited<ReturnType<typeof oidcPerson>>;
  try {
    person = await oidcPerson(name, settings, tokens);
  } catch (error) {
    yield finding("person", "failed", (error as Error).message);
    return;
  }
  const { email, shown: display, verified, groups = [], subject } = person;
  yield email === undefined
    ? finding(
        "address",
        "warning",
        `${display ?? subject}: no verified address, so no entry @domain, no invitation to an address and no * matches`,
        `allow ${name}:* or a group instead, if the provider verifies no addresses`,
      )
    : ok("address", `${email} is verified`);
  yield groupsFound(settings, claims, more, groups);
  yield tokens.refresh_token === undefined
    ? finding(
        "renewal",
        "warning",
        `no refresh token: groups are those of the last sign-in, and logins end after ${config.oidc.unanswered / 3_600_000} hours`,
        "let the provider give one, such as by the scope offline_access",
      )
    : ok("renewal", `a refresh token, used after ${config.oidc.refresh / 60_000} minutes`);
  const found: Finding[] = [];
  await withStore(async (store) => {
    found.push(...(await given(config, store, { name, settings, subject, verified, groups })));
  }).catch((error: unknown) => {
    found.push(finding("teams", "skipped", (error as Error).message));
  });
  yield* found;
}

async function signIn(
  { signInAllow: rules }: ServerConfig,
  name: OidcName,
  settings: ProviderSettings,
  callback: string,
): Promise<ProviderTokens> {
  const asked = { rules, isConnecting: false };
  const begun = await authorization(name, settings, callback, asked);
  // The server recognises it, and shows what to do with the address.
  const state = checkPrefix + begun.state;
  const address = new URL(begun.url);
  address.searchParams.set("state", state);
  process.stderr.write(
    `Open this address in a browser, and sign in at ${titleOf(name, settings)}:\n\n  ${address.href}\n\nThen copy the address of the page at which the browser arrives. It begins with\n${callback}, and the page may be an error.\n`,
  );
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  let line: string;
  try {
    line = (await terminal.question("Address: ")).trim();
  } finally {
    terminal.close();
  }
  const returned = URL.canParse(line) ? new URL(line) : undefined;
  if (returned?.pathname !== new URL(callback).pathname)
    throw new Error(`what was pasted does not begin with ${callback}`);
  const refused = returned.searchParams.get("error");
  if (refused !== null)
    throw new Error(
      `the provider says: ${plain(`${refused} ${returned.searchParams.get("error_description") ?? ""}`).trim()}`,
    );
  // The exchange must name the registered address.
  const whole = new URL(callback);
  whole.search = returned.search;
  return exchangeCode(name, settings, whole, { ...begun, state });
}

async function userInfoOf(
  name: OidcName,
  settings: ProviderSettings,
  tokens: ProviderTokens,
): Promise<{ readonly claims: Claims } | { readonly failed: Finding }> {
  const { userinfo_endpoint } = await discovered(name, settings);
  if (userinfo_endpoint === undefined) return { claims: {} };
  try {
    return { claims: await userInfo(name, settings, tokens) };
  } catch (error) {
    return { failed: finding("user info", "failed", (error as Error).message) };
  }
}

function groupsFound(
  { oidc }: ProviderSettings,
  claims: Claims,
  more: Claims,
  groups: readonly string[],
): Finding {
  const check = "groups";
  const claim = oidc?.groupsClaim ?? "groups";
  if (groups.length > 0) {
    const given = valueAt(claims, claim) ?? valueAt(more, claim);
    const left = Array.isArray(given) ? given.length - groups.length : 0;
    return left > 0
      ? finding(
          check,
          "warning",
          `${groups.length} in the claim "${claim}"; ${left} are left out: at most ${groupLimits.count} count, each of at most ${groupLimits.length} characters`,
        )
      : ok(check, `${groups.length} in the claim "${claim}"`);
  }
  if (leavesGroupsOut({ ...more, ...claims }, claim))
    return finding(
      check,
      "warning",
      "the provider has left the groups out, because the person is in too many",
      "let it send only the groups that are assigned to this application",
    );
  return finding(
    check,
    "warning",
    `none: neither the ID token nor the user info has the claim "${claim}"`,
    "the person is in no group, or the provider must be told to send them: add a mapper or a scope (WINDLASS_OIDC_SCOPES), or name the claim (WINDLASS_OIDC_GROUPS_CLAIM)",
  );
}

/** Whether the person may sign in, and the teams and roles that they would have. */
async function given(
  { signInAllow }: ServerConfig,
  { read }: Pick<Store, "read">,
  {
    name,
    settings,
    subject,
    verified,
    groups,
  }: {
    readonly name: OidcName;
    readonly settings: ProviderSettings;
    readonly subject: string;
    readonly verified: readonly string[];
    readonly groups: readonly string[];
  },
): Promise<Finding[]> {
  const { provider, host } = accountsOf(name, settings);
  const account = await findAccount(read, { provider, host, subject });
  const person = account && (await findPerson(read, account.user_id));
  const rule =
    signInAllow.find((one) => allowsAddress([one], verified)) ??
    findOidcRule(signInAllow, name, groups);
  const isInvited = person && (person.link_email !== null || person.invited_to !== null);
  const permission =
    person && person.blocked_at !== null
      ? finding("permission", "failed", "an operator has blocked this user", "unblock: /operator")
      : rule
        ? ok("permission", `may sign in, by the entry ${entryOf(rule)}`)
        : isInvited
          ? ok("permission", "may sign in, by an invitation or a login link")
          : finding(
              "permission",
              "failed",
              `may not sign in: no entry of WINDLASS_SIGN_IN_ALLOW matches (${signInAllow.length === 0 ? "it is empty" : signInAllow.map((one) => entryOf(one)).join(", ")})`,
              `add ${name}:group/NAME, ${name}:* or the address, or invite the person to a team`,
            );
  const teams: Finding[] = [];
  for (const { space, access, names } of await membershipsByGroups(read, [
    { host, groups: JSON.stringify(groups) },
  ])) {
    const slug = (await read.first(findTeam, { id: space }))?.slug ?? space;
    const member = person && (await read.first(findMember, { space, user: person.id }));
    const text = `${slug}: ${accessWords(access)}, by ${names.map((one) => plain(one)).join(", ")}`;
    teams.push(
      !member && (await isFull(read, space))
        ? finding("team", "warning", `${text}; but the team is full`, "remove a member of it")
        : ok("team", text),
    );
  }
  if (teams.length > 0) return [permission, ...teams];
  const none = "no team admits one of these groups";
  return [permission, finding("team", "skipped", none, "windlass teams groups add GROUP")];
}

/** Without what a terminal obeys. */
const plain = (text: string): string => withVisibleDirections(text).replaceAll(/\p{Cc}/gu, escaped);

function shown(value: unknown): string {
  const text = plain(JSON.stringify(value) ?? "");
  if (text.length <= shownLength) return text;
  const count = Array.isArray(value) ? `, ${value.length} in all` : "";
  return `${text.slice(0, shownLength)}… (${text.length} characters${count})`;
}
