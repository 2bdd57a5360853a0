/** GitHub and Bitbucket have fixed endpoints, all others discovery. */
import { compactVerify } from "jose";
import * as client from "openid-client";
import type { Claims } from "../../domain/oidc-claims.ts";
import {
  hostOf,
  isOidc,
  type OidcName,
  type ProviderName,
  type ProviderSettings,
} from "../../domain/providers.ts";
import type { SignInRule } from "../../domain/sign-in-allow.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { askProvider, unavailable } from "./provider-http.ts";
import { algorithms, keysOf } from "./provider-keys.ts";

export interface ProviderTokens {
  readonly access_token: string;
  readonly refresh_token: string | undefined;
  readonly expires_in: number | undefined;
  /** What was granted, as the provider writes it. */
  readonly scope?: string | undefined;
  readonly subject: string | undefined;
  /** The checked ID token with its claims, if there is one. */
  readonly id_token?: string | undefined;
  readonly claims?: Claims | undefined;
}

/** What a sign-in asks for. */
const scopes: Readonly<Record<Exclude<ProviderName, OidcName>, string>> = {
  github: "user:email",
  gitlab: "openid email read_api",
  bitbucket: "account email repository",
  google: "openid email",
};

/** The `state` of a sign-in that `windlass server doctor` begins, and completes itself, begins so. */
export const checkPrefix = "doctor.";

/** The values that the browser must bring back. */
export interface Challenge {
  readonly state: string;
  readonly verifier: string;
  /** Where there is an ID token, which repeats it. */
  readonly nonce?: string | undefined;
}

interface Asked {
  readonly rules: readonly SignInRule[];
  /** Whether the user's repositories are to be listed too. */
  readonly isConnecting: boolean;
}

/** Returns where to send the browser, and what to remember until it comes back. */
export async function authorization(
  name: ProviderName,
  settings: ProviderSettings,
  redirect_uri: string,
  asked: Asked,
): Promise<Challenge & { readonly url: string }> {
  const config = await configurationOf(name, settings);
  const [state, verifier] = [client.randomState(), client.randomPKCECodeVerifier()];
  const nonce = isDiscovered(name) ? client.randomNonce() : undefined;
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri,
    scope: scopeOf(name, settings, config, asked),
    state,
    ...(nonce === undefined ? {} : { nonce }),
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  return { url: url.href, state, verifier, nonce };
}

function scopeOf(
  name: ProviderName,
  { oidc }: ProviderSettings,
  config: client.Configuration,
  asked: Asked,
): string {
  if (name === "github") return githubScope(asked);
  if (!isOidc(name)) return scopes[name];
  if (oidc?.scopes !== undefined) return oidc.scopes;
  const isOffered = config.serverMetadata().scopes_supported?.includes("offline_access");
  return `openid email profile${isOffered ? " offline_access" : ""}`;
}

/** GitHub has no narrower scope than `repo` that lists private repositories. */
function githubScope({ rules, isConnecting }: Asked): string {
  const asksGroups = rules.some((rule) => rule.kind === "group" && rule.provider === "github");
  const more = [...(asksGroups ? ["read:org"] : []), ...(isConnecting ? ["repo"] : [])];
  return [scopes.github, ...more].join(" ");
}

/** GitHub's list of scopes, of a token's grant or in a header. Tokens of a GitHub App have none. */
export const githubScopes = (text: string | null | undefined): string[] =>
  text?.split(/[\s,]+/).filter((scope) => scope !== "") ?? [];

/** Whether a token only signs in. */
export const lacksRepositories = (granted: readonly string[]): boolean =>
  granted.length > 0 && !granted.includes("repo");

export const exchangeCode = (
  name: ProviderName,
  settings: ProviderSettings,
  returned: URL,
  { state, verifier, nonce }: Challenge,
): Promise<ProviderTokens> =>
  requestTokens(async () => {
    const config = await configurationOf(name, settings);
    const tokens = await client.authorizationCodeGrant(config, returned, {
      expectedState: state,
      pkceCodeVerifier: verifier,
      idTokenExpected: isDiscovered(name),
      ...(nonce === undefined ? {} : { expectedNonce: nonce }),
    });
    if (isOidc(name)) await checkSignature(name, settings, tokens.id_token);
    return tokens;
  });

export const refreshGrant = (
  name: ProviderName,
  settings: ProviderSettings,
  refreshToken: string,
): Promise<ProviderTokens> =>
  requestTokens(async () =>
    client.refreshTokenGrant(await configurationOf(name, settings), refreshToken),
  );

/**
 * Asks a provider anew for a session there. Returns "refused" if it has ended the session. Throws
 * `provider_unavailable` for everything else, such as a client whose secret was replaced. The caller
 * keeps the refresh token before it checks the signature of the ID token.
 */
export async function renew(
  name: OidcName,
  settings: ProviderSettings,
  refreshToken: string,
): Promise<ProviderTokens | "refused"> {
  try {
    const config = await configurationOf(name, settings);
    return tokensOf(await client.refreshTokenGrant(config, refreshToken));
  } catch (error) {
    if (error instanceof RefusalError) throw error;
    if (error instanceof client.ResponseBodyError && error.error === "invalid_grant")
      return "refused";
    throw faultOf(error);
  }
}

/**
 * Checks the signature of an ID token, although it came over a connection of our own. Its claims are
 * checked by the client, which does not fetch keys again right after it has fetched them. Throws
 * `provider_unavailable`.
 */
export async function checkSignature(
  name: OidcName,
  settings: ProviderSettings,
  token: string | undefined,
): Promise<void> {
  if (token === undefined) return;
  const { jwks_uri } = await discovered(name, settings);
  if (jwks_uri === undefined) throw unavailable("it publishes no keys");
  try {
    await compactVerify(token, keysOf(settings, jwks_uri, keyFetch(settings)), { algorithms });
  } catch (error) {
    throw faultOf(error);
  }
}

/** How keys are fetched, with the limits of every request to a provider. */
export const keyFetch =
  (settings: ProviderSettings): Parameters<typeof keysOf>[2] =>
  (url, { method, headers }) =>
    fetchOf(settings)(url, { method, headers, body: undefined, redirect: "manual" });

/** What discovery says of an OpenID Connect provider. Throws `provider_unavailable`. */
export const discovered = async (name: OidcName, settings: ProviderSettings) =>
  (await configurationOf(name, settings)).serverMetadata();

/** Returns the claims of the user info endpoint. Throws unless they are of this subject. */
export async function userInfo(
  name: ProviderName,
  settings: ProviderSettings,
  { access_token, subject }: ProviderTokens,
): Promise<client.UserInfoResponse> {
  const config = await configurationOf(name, settings);
  try {
    return await client.fetchUserInfo(config, access_token, subject ?? "");
  } catch (error) {
    throw faultOf(error);
  }
}

/** What the client library throws has the refusal of our own request as its cause. */
function faultOf(error: unknown): RefusalError {
  const causes = [error, (error as Error).cause];
  const own = causes.find((one) => one instanceof RefusalError);
  return own ?? unavailable((error as Error).message);
}

async function requestTokens(
  grant: () => Promise<client.TokenEndpointResponse & client.TokenEndpointResponseHelpers>,
): Promise<ProviderTokens> {
  try {
    return tokensOf(await grant());
  } catch (error) {
    if (error instanceof RefusalError) throw error;
    if (error instanceof client.ResponseBodyError && error.status < 500)
      throw new RefusalError(
        "provider_token_rejected",
        `The provider says: ${error.error}${error.error_description === undefined ? "" : ` (${error.error_description.slice(0, 200)})`}`,
      );
    if (error instanceof client.WWWAuthenticateChallengeError)
      throw new RefusalError("provider_token_rejected");
    throw faultOf(error);
  }
}

function tokensOf(
  tokens: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers,
): ProviderTokens {
  const claims = tokens.claims();
  const { access_token, refresh_token, expires_in, scope, id_token } = tokens;
  return { access_token, refresh_token, expires_in, scope, id_token, claims, subject: claims?.sub };
}

const isDiscovered = (name: ProviderName): boolean =>
  name === "gitlab" || name === "google" || isOidc(name);

/** For the life of the process. After a failed discovery, the next sign-in tries again. */
const configurations = new WeakMap<ProviderSettings, Promise<client.Configuration>>();

function configurationOf(
  name: ProviderName,
  settings: ProviderSettings,
): Promise<client.Configuration> {
  const known = configurations.get(settings);
  if (known) return known;
  const made = configure(name, settings);
  configurations.set(settings, made);
  made.catch(() => configurations.delete(settings));
  return made;
}

async function configure(
  name: ProviderName,
  settings: ProviderSettings,
): Promise<client.Configuration> {
  const { clientId, clientSecret } = settings;
  const host = hostOf(name, settings);
  // Unencrypted only if the operator has configured an http address.
  const insecure = host.startsWith("http:") ? [client.allowInsecureRequests] : [];
  const ask = fetchOf(settings);
  if (isDiscovered(name)) {
    try {
      return await client.discovery(
        new URL(host),
        clientId,
        undefined,
        authenticationOf(name, clientSecret),
        { execute: insecure, [client.customFetch]: ask },
      );
    } catch (error) {
      throw faultOf(error);
    }
  }
  const isGithub = name === "github";
  const path = isGithub ? "/login/oauth" : "/site/oauth2";
  const config = new client.Configuration(
    {
      // GitHub names itself so in the `iss` of its redirect.
      issuer: isGithub ? `${host}${path}` : host,
      authorization_endpoint: `${host}${path}/authorize`,
      token_endpoint: `${host}${path}/access_token`,
    },
    clientId,
    undefined,
    client.ClientSecretPost(clientSecret),
  );
  config[client.customFetch] = ask;
  for (const allow of insecure) allow(config);
  return config;
}

/** In the body, unless an OpenID Connect provider takes only the header. */
const authenticationOf =
  (name: ProviderName, secret: string): client.ClientAuth =>
  (server, metadata, body, headers) => {
    // By default only the header (OpenID Connect Discovery 1.0, section 3).
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const way =
      isOidc(name) && !methods.includes("client_secret_post")
        ? client.ClientSecretBasic(secret)
        : client.ClientSecretPost(secret);
    return way(server, metadata, body, headers);
  };

/** undici's client with the interface of `fetch`, with limits. */
const fetchOf =
  (settings: ProviderSettings): client.CustomFetch =>
  async (url, { method, headers, body }) => {
    const answer = await askProvider(settings, url, {
      method,
      headers,
      ...(typeof body === "string" || body instanceof URLSearchParams
        ? { body: body.toString() }
        : {}),
    });
    // GitHub answers an error with 200; the standard has 400.
    const isError = answer.status === 200 && isErrorDocument(answer.text);
    return new Response([204, 304].includes(answer.status) ? null : answer.text, {
      status: isError ? 400 : answer.status,
      headers: answer.headers,
    });
  };

/** The error of RFC 6749, section 5.2. */
function isErrorDocument(text: string): boolean {
  try {
    const answer: unknown = JSON.parse(text);
    return typeof answer === "object" && answer !== null && Object.hasOwn(answer, "error");
  } catch {
    return false;
  }
}
