/** The organisations and groups of WINDLASS_SIGN_IN_ALLOW: whether a person is in one. */
import { apiOf, type ProviderName, type ProviderSettings } from "../../domain/providers.ts";
import { entryOf, type SignInRule } from "../../domain/sign-in-allow.ts";
import { askProvider, unavailable } from "./provider-http.ts";

type Group = Extract<SignInRule, { kind: "group" }>;

/** GitLab's "minimal access" is 5 and does not count; a guest has 10. */
const guest = 10;

export const groupsOf = (rules: readonly SignInRule[], provider: ProviderName): Group[] =>
  rules.filter((rule) => rule.kind === "group").filter((rule) => rule.provider === provider);

/** Asks for all groups at once. Throws `provider_unavailable` if no yes and a request failed. */
export async function findGroup(
  rules: readonly SignInRule[],
  provider: ProviderName,
  settings: ProviderSettings,
  { subject, token }: { readonly subject: string; readonly token: string },
): Promise<string | undefined> {
  const groups = groupsOf(rules, provider);
  const answers = await Promise.allSettled(
    groups.map(({ group }) =>
      provider === "github"
        ? isOrganisationMember(settings, group, token)
        : isGroupMember(settings, group, subject, token),
    ),
  );
  const found = groups.find((_, index) => {
    const answer = answers[index];
    return answer?.status === "fulfilled" && answer.value;
  });
  if (found) return entryOf(found);
  const failed = answers.find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
  return undefined;
}

/** Needs `read:org`. An organisation that has not approved the application answers 403. */
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
  if (status !== 200) throw unavailable(`it responded ${status}`);
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    throw unavailable("its response is not JSON");
  }
}
