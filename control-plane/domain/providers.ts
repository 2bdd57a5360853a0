export const providerNames = ["github", "gitlab", "bitbucket", "google"] as const;
export type ProviderName = (typeof providerNames)[number];

/** The providers that host repositories. */
export const codeHosts = ["github", "gitlab", "bitbucket"] as const;
export type CodeHost = (typeof codeHosts)[number];

export const providerTitles: Readonly<Record<ProviderName, string>> = {
  github: "GitHub",
  gitlab: "GitLab",
  bitbucket: "Bitbucket",
  google: "Google",
};

export interface ProviderSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** A self-managed host; undefined: the public one. */
  readonly baseUrl: string | undefined;
  /** Requests that take longer count as failed. */
  readonly timeoutMilliseconds: number;
}

export type Providers = Readonly<Partial<Record<ProviderName, ProviderSettings>>>;

const publicHosts: Readonly<Record<ProviderName, string>> = {
  github: "https://github.com",
  gitlab: "https://gitlab.com",
  bitbucket: "https://bitbucket.org",
  google: "https://accounts.google.com",
};

/** Where people sign in. */
export const hostOf = (name: ProviderName, { baseUrl }: Partial<ProviderSettings>): string =>
  baseUrl ?? publicHosts[name];

/** A subject means nothing at another host. Without the scheme, which may become https. */
export function accountHost(name: ProviderName, settings: Partial<ProviderSettings>): string {
  const { host, pathname } = new URL(hostOf(name, settings));
  return `${host}${pathname.replace(/\/+$/, "")}`;
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

export const isCodeHost = (word: string): word is CodeHost =>
  (codeHosts as readonly string[]).includes(word);
