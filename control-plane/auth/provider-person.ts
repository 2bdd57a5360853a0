/** Who signed in at a provider: the subject that never changes, and an e-mail that the provider has verified. */
import { apiOf, type ProviderName, type ProviderSettings } from "../domain/providers.ts";
import { userInfo, type ProviderTokens } from "./oauth-client.ts";
import { getJson, unavailable } from "./provider-http.ts";

export interface ProviderPerson {
  readonly subject: string;
  /** Undefined: the provider has no verified one. */
  readonly email: string | undefined;
}

/** Asks the provider whose token this is. Throws `provider_unavailable` or `provider_token_rejected`. */
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
      return person(claims.sub, claims.email_verified === true ? claims.email : undefined);
    }
  }
}

async function githubPerson(api: string, settings: ProviderSettings, token: string) {
  const [user, emails] = await Promise.all([
    getJson(settings, `${api}/user`, token),
    getJson(settings, `${api}/user/emails`, token),
  ]);
  const primary = listOf(emails.json).find((one) => one["primary"] === true);
  return person(
    objectOf(user.json)["id"],
    primary?.["verified"] === true ? primary["email"] : undefined,
  );
}

async function bitbucketPerson(api: string, settings: ProviderSettings, token: string) {
  const [user, emails] = await Promise.all([
    getJson(settings, `${api}/user`, token),
    getJson(settings, `${api}/user/emails`, token),
  ]);
  const primary = listOf(objectOf(emails.json)["values"]).find((one) => one["is_primary"] === true);
  return person(
    objectOf(user.json)["uuid"],
    primary?.["is_confirmed"] === true ? primary["email"] : undefined,
  );
}

function person(subject: unknown, email: unknown): ProviderPerson {
  if ((typeof subject !== "string" && typeof subject !== "number") || subject === "")
    throw unavailable("it does not say who signed in");
  const isEmail =
    typeof email === "string" && email.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(email);
  return { subject: String(subject), email: isEmail ? email : undefined };
}

type Fields = Readonly<Record<string, unknown>>;

/** An object of an answer, or the host is at fault. */
export function objectOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unavailable("its answer is not what its API describes");
  return value as Fields;
}

/** A list of objects of an answer, or the host is at fault. */
export function listOf(value: unknown): Fields[] {
  if (!Array.isArray(value)) throw unavailable("its answer is not what its API describes");
  return value.map(objectOf);
}
