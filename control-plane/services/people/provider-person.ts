/** The subject never changes; e-mail addresses are those that the provider has verified. */
import {
  groupsIn,
  isAddress,
  leavesGroupsOut,
  unverifiedName,
  type Claims,
} from "../../domain/oidc-claims.ts";
import {
  apiOf,
  isOidc,
  type OidcName,
  type ProviderName,
  type ProviderSettings,
} from "../../domain/providers.ts";
import { discovered, userInfo, type ProviderTokens } from "./oauth-client.ts";
import { getJson, unavailable } from "./provider-http.ts";

export interface ProviderPerson {
  readonly subject: string;
  /** The primary address; undefined if the provider has not verified it. */
  readonly email: string | undefined;
  readonly verified: readonly string[];
  /** How the person is shown without a verified address. */
  readonly shown?: string;
  /** What an OpenID Connect provider says of groups. */
  readonly groups?: readonly string[];
  /** Whether it left the groups out, because there are too many. */
  readonly hasTooManyGroups?: boolean;
}

/** Throws `provider_unavailable` or `provider_token_rejected`. */
export async function personOf(
  name: ProviderName,
  settings: ProviderSettings,
  tokens: ProviderTokens,
): Promise<ProviderPerson> {
  if (isOidc(name)) return oidcPerson(name, settings, tokens);
  switch (name) {
    case "github":
      return githubPerson(apiOf(name, settings), settings, tokens.access_token);
    case "bitbucket":
      return bitbucketPerson(apiOf(name, settings), settings, tokens.access_token);
    case "gitlab":
    case "google": {
      const claims = await userInfo(name, settings, tokens);
      const email = claims.email_verified === true ? claims.email : undefined;
      return person(claims.sub, email, [email]);
    }
  }
}

async function githubPerson(api: string, settings: ProviderSettings, token: string) {
  const [user, emails] = await Promise.all([
    getJson(settings, `${api}/user`, token),
    getJson(settings, `${api}/user/emails`, token),
  ]);
  const verified = listOf(emails.json).filter((one) => one["verified"] === true);
  const primary = verified.find((one) => one["primary"] === true);
  return person(
    objectOf(user.json)["id"],
    primary?.["email"],
    verified.map((one) => one["email"]),
  );
}

async function bitbucketPerson(api: string, settings: ProviderSettings, token: string) {
  const [user, emails] = await Promise.all([
    getJson(settings, `${api}/user`, token),
    getJson(settings, `${api}/user/emails`, token),
  ]);
  const values = listOf(objectOf(emails.json)["values"]);
  const verified = values.filter((one) => one["is_confirmed"] === true);
  const primary = verified.find((one) => one["is_primary"] === true);
  return person(
    objectOf(user.json)["uuid"],
    primary?.["email"],
    verified.map((one) => one["email"]),
  );
}

/**
 * What the ID token lacks is asked of the user info endpoint, where there is one; what that lacks
 * too is as in `last`.
 */
export async function oidcPerson(
  name: OidcName,
  settings: ProviderSettings,
  tokens: ProviderTokens,
  last: Claims = {},
): Promise<ProviderPerson> {
  const { userinfo_endpoint } = await discovered(name, settings);
  const claims = tokens.claims ?? {};
  const claim = settings.oidc?.groupsClaim ?? "groups";
  const isComplete = claims["email"] !== undefined && groupsIn([claims], claim).length > 0;
  const asksNothing = isComplete || userinfo_endpoint === undefined;
  const info: Claims = {
    ...last,
    ...(asksNothing ? {} : await userInfo(name, settings, tokens)),
  };
  const { email, email_verified } = claims["email"] === undefined ? info : claims;
  const verified = email_verified === true ? email : undefined;
  const groups = groupsIn([claims, info], claim);
  const known = person(tokens.subject, verified, [verified]);
  return {
    ...known,
    shown: unverifiedName({ ...info, ...claims }, known.subject),
    groups,
    hasTooManyGroups: groups.length === 0 && leavesGroupsOut({ ...info, ...claims }, claim),
  };
}

function person(subject: unknown, email: unknown, verified: readonly unknown[]): ProviderPerson {
  if ((typeof subject !== "string" && typeof subject !== "number") || subject === "")
    throw unavailable("its response does not say who signed in");
  return {
    subject: String(subject),
    email: isAddress(email) ? email : undefined,
    verified: verified.filter(isAddress),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns an object of a response. Throws that the host is at fault if it is not one. */
export function objectOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unavailable("its response does not match its API");
  return value as Fields;
}

/** Returns a list of objects of a response. Throws that the host is at fault if it is not one. */
export function listOf(value: unknown): Fields[] {
  if (!Array.isArray(value)) throw unavailable("its response does not match its API");
  return value.map(objectOf);
}
