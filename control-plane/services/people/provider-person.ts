/** The subject never changes; e-mail addresses are those that the provider has verified. */
import { apiOf, type ProviderName, type ProviderSettings } from "../../domain/providers.ts";
import { userInfo, type ProviderTokens } from "./oauth-client.ts";
import { getJson, unavailable } from "./provider-http.ts";

export interface ProviderPerson {
  readonly subject: string;
  /** The primary address; undefined if the provider has not verified it. */
  readonly email: string | undefined;
  readonly verified: readonly string[];
}

/** Throws `provider_unavailable` or `provider_token_rejected`. */
export async function personOf(
  name: ProviderName,
  settings: ProviderSettings,
  tokens: ProviderTokens,
): Promise<ProviderPerson> {
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

function person(subject: unknown, email: unknown, verified: readonly unknown[]): ProviderPerson {
  if ((typeof subject !== "string" && typeof subject !== "number") || subject === "")
    throw unavailable("its response does not say who signed in");
  return {
    subject: String(subject),
    email: isAddress(email) ? email : undefined,
    verified: verified.filter(isAddress),
  };
}

const isAddress = (text: unknown): text is string =>
  typeof text === "string" && text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text);

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
