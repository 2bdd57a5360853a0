/** Whether a person who came through a provider may use this server: WINDLASS_SIGN_IN_ALLOW. Groups are asked about with the person's own token. */
import { apiOf, type ProviderName, type ProviderSettings } from "../../domain/providers.ts";
import { allowsAddress, type SignInRule } from "../../domain/sign-in-allow.ts";
import type { ProviderTokens } from "./oauth-client.ts";
import { askProvider, unavailable } from "./provider-http.ts";
import type { ProviderPerson } from "./provider-person.ts";

type Group = Extract<SignInRule, { kind: "group" }>;

/** GitLab's "minimal access" is 5 and opens nothing; a guest has 10. */
const guest = 10;

/** Asks the provider about groups only where no address is allowed. Throws `provider_unavailable`. */
export async function mayUse(
  rules: readonly SignInRule[],
  provider: ProviderName,
  settings: ProviderSettings,
  { subject, verified }: Pick<ProviderPerson, "subject" | "verified">,
  { access_token: token }: ProviderTokens,
): Promise<boolean> {
  if (allowsAddress(rules, verified)) return true;
  const groups = rules.filter((rule) => rule.kind === "group" && rule.provider === provider);
  return isInAnyGroup(groups as Group[], settings, {
    subject,
    token,
  });
}

/** Asks about every group at once. Throws `provider_unavailable` if no answer says yes and one of them is no answer. */
async function isInAnyGroup(
  groups: readonly Group[],
  settings: ProviderSettings,
  { subject, token }: { readonly subject: string; readonly token: string },
): Promise<boolean> {
  const answers = await Promise.allSettled(
    groups.map(({ provider, group }) =>
      provider === "github"
        ? isOrganisationMember(settings, group, token)
        : isGroupMember(settings, group, subject, token),
    ),
  );
  if (answers.some((one) => one.status === "fulfilled" && one.value)) return true;
  const failed = answers.find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
  return false;
}

/** Needs the scope `read:org`. An organisation that has not approved the application answers 403, as if there were no membership. */
async function isOrganisationMember(
  settings: ProviderSettings,
  organisation: string,
  token: string,
): Promise<boolean> {
  const url = `${apiOf("github", settings)}/user/memberships/orgs/${organisation}`;
  const membership = await readMembership(settings, url, token);
  return membership?.["state"] === "active";
}

/** Members of a group above it are members too; those of a group below it are not. */
async function isGroupMember(
  settings: ProviderSettings,
  path: string,
  subject: string,
  token: string,
): Promise<boolean> {
  const group = encodeURIComponent(path);
  const url = `${apiOf("gitlab", settings)}/groups/${group}/members/all/${encodeURIComponent(subject)}`;
  const membership = await readMembership(settings, url, token);
  return membership?.["state"] === "active" && Number(membership["access_level"]) >= guest;
}

async function readMembership(
  settings: ProviderSettings,
  url: string,
  token: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  const { status, headers: known, text } = await askProvider(settings, url, { headers });
  const isLimited = known.get("x-ratelimit-remaining") === "0" || known.has("retry-after");
  if (status === 404 || (status === 403 && !isLimited)) return undefined;
  if (status !== 200) throw unavailable(`it answered ${status}`);
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    throw unavailable("its answer is not JSON");
  }
}
