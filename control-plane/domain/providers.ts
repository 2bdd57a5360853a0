const hosts = ["github", "gitlab", "bitbucket", "google"] as const;

/** Any OpenID Connect providers, by their number in the settings. */
export const oidcNames = [
  "oidc",
  "oidc_2",
  "oidc_3",
  "oidc_4",
  "oidc_5",
  "oidc_6",
  "oidc_7",
  "oidc_8",
  "oidc_9",
] as const;
export type OidcName = (typeof oidcNames)[number];

export const providerNames = [...hosts, ...oidcNames] as const;
export type ProviderName = (typeof providerNames)[number];

/**
 * What an account is stored with. OpenID Connect providers share one name, because the issuer tells
 * them apart and their numbers may change.
 */
export type AccountProvider = (typeof hosts)[number] | "oidc";

/** The providers that host repositories. */
export const codeHosts = ["github", "gitlab", "bitbucket"] as const;
export type CodeHost = (typeof codeHosts)[number];

const titles = {
  github: "GitHub",
  gitlab: "GitLab",
  bitbucket: "Bitbucket",
  google: "Google",
} as const;

/** The name of a provider for people. */
export const titleOf = (name: ProviderName, settings: Partial<ProviderSettings> = {}): string =>
  isOidc(name) ? (settings.oidc?.title ?? accountHost(name, settings)) : titles[name];

/** The settings of an OpenID Connect provider, whose issuer is `baseUrl`. */
export interface OidcSettings {
  /** The text of the button; undefined: the issuer. */
  readonly title: string | undefined;
  /** Undefined: `openid email profile`, and `offline_access` where the provider has it. */
  readonly scopes: string | undefined;
  /** Where the claims have the groups: a key, or keys joined by dots. */
  readonly groupsClaim: string;
}

/** In milliseconds. */
export interface OidcPeriods {
  /** After this time, a provider is asked anew with a refresh token. */
  readonly refresh: number;
  /** Logins last this long without an answer of their provider. */
  readonly unanswered: number;
}

export interface ProviderSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** A self-managed host; undefined: the public one. */
  readonly baseUrl: string | undefined;
  /** Requests that take longer count as failed. */
  readonly timeoutMilliseconds: number;
  readonly oidc?: OidcSettings;
}

export type Providers = Readonly<Partial<Record<ProviderName, ProviderSettings>>>;

const publicHosts: Readonly<Record<(typeof hosts)[number], string>> = {
  github: "https://github.com",
  gitlab: "https://gitlab.com",
  bitbucket: "https://bitbucket.org",
  google: "https://accounts.google.com",
};

/** Where people sign in; of an OpenID Connect provider its issuer. */
export const hostOf = (name: ProviderName, { baseUrl }: Partial<ProviderSettings>): string =>
  baseUrl ?? publicHosts[name as keyof typeof publicHosts];

/** A subject means nothing at another host. Without the scheme, which may become https. */
export function accountHost(name: ProviderName, settings: Partial<ProviderSettings>): string {
  const { host, pathname } = new URL(hostOf(name, settings));
  return `${host}${pathname.replace(/\/+$/, "")}`;
}

/** Which accounts are those of a provider. */
export const accountsOf = (
  name: ProviderName,
  settings: Partial<ProviderSettings> = {},
): { readonly provider: AccountProvider; readonly host: string } => ({
  provider: isOidc(name) ? "oidc" : name,
  host: accountHost(name, settings),
});

/** The provider that is configured for an account. */
export function providerOf(
  providers: Providers,
  { provider, host }: { readonly provider: AccountProvider; readonly host: string },
): { readonly name: ProviderName; readonly settings: ProviderSettings } | undefined {
  for (const name of providerNames) {
    const settings = providers[name];
    if (!settings) continue;
    const of = accountsOf(name, settings);
    if (of.provider === provider && of.host === host) return { name, settings };
  }
  return undefined;
}

/** Where a code host's API is: beside its public host, or below a self-managed one. */
export function apiOf(name: CodeHost, settings: ProviderSettings): string {
  const { baseUrl } = settings;
  switch (name) {
    case "github":
      return baseUrl === undefined ? "https://api.github.com" : `${baseUrl}/api/v3`;
    case "gitlab":
      return `${hostOf(name, settings)}/api/v4`;
    case "bitbucket":
      return baseUrl === undefined ? "https://api.bitbucket.org/2.0" : `${baseUrl}/2.0`;
  }
}

export const isProvider = (word: string): word is ProviderName =>
  (providerNames as readonly string[]).includes(word);

export const isOidc = (name: string): name is OidcName =>
  (oidcNames as readonly string[]).includes(name);

export const isCodeHost = (word: string): word is CodeHost =>
  (codeHosts as readonly string[]).includes(word);
