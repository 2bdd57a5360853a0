/** Reads the settings of sign-in providers. */
import type { settingsReader } from "../common/settings/read.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import type { serverSettings } from "../common/settings/server.ts";
import { unusedWarnings } from "./config-warnings.ts";
import {
  accountsOf,
  isOidc,
  oidcNames,
  providerNames,
  type OidcName,
  type ProviderName,
  type ProviderSettings,
  type Providers,
} from "./domain/providers.ts";

export type ReadServerSetting = ReturnType<typeof settingsReader<typeof serverSettings>>;

/** Throws `ConfigError` for a provider that lacks a setting. */
export function providersOf(read: ReadServerSetting): {
  on: Providers;
  warnings: readonly string[];
} {
  const on: { -readonly [N in ProviderName]?: Providers[N] } = {};
  const warnings: string[] = [];
  for (const provider of providerNames) {
    if (isOidc(provider)) continue;
    const name = provider.toUpperCase() as Uppercase<Exclude<ProviderName, OidcName>>;
    const clientId = read(`${name}_CLIENT_ID`);
    const clientSecret = read(`${name}_CLIENT_SECRET`);
    const baseUrl = read(`${name}_BASE_URL`);
    // One without the other is a mistake.
    if ((clientId === undefined) !== (clientSecret === undefined))
      throw new ConfigError(
        `${name}_CLIENT_${clientId === undefined ? "ID" : "SECRET"} must be set too: sign-in with a provider needs both`,
      );
    if (clientId !== undefined && clientSecret !== undefined)
      on[provider] = { clientId, clientSecret, baseUrl, timeoutMilliseconds: 10_000 };
    else
      warnings.push(
        ...unusedWarnings(
          `sign-in with ${provider} is off: set ${name}_CLIENT_ID and ${name}_CLIENT_SECRET`,
          { [`${name}_BASE_URL`]: baseUrl },
        ),
      );
  }
  for (const provider of oidcNames) {
    const settings = oidcOf(read, provider);
    if (!settings) continue;
    const { host } = accountsOf(provider, settings);
    // Accounts are told apart by the issuer, so its sessions would be renewed by another client.
    if (oidcNames.some((one) => on[one] && accountsOf(one, on[one]).host === host))
      throw new ConfigError(
        `WINDLASS_${provider.toUpperCase()}_ISSUER must be another one than those before it`,
      );
    on[provider] = settings;
  }
  return { on, warnings };
}

function oidcOf(read: ReadServerSetting, provider: OidcName): ProviderSettings | undefined {
  const name = `WINDLASS_${provider.toUpperCase() as Uppercase<OidcName>}` as const;
  const issuer = read(`${name}_ISSUER`);
  const clientId = read(`${name}_CLIENT_ID`);
  const clientSecret = read(`${name}_CLIENT_SECRET`);
  const given = { ISSUER: issuer, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret };
  const missing = Object.entries(given).flatMap(([field, value]) => (value ? [] : [field]));
  if (missing.length === 3) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined)
    throw new ConfigError(
      `${name}_${missing[0]} must be set too: sign-in with OpenID Connect needs an issuer, the id of a client and its secret`,
    );
  // Everyone with an account at Microsoft could sign in, each with another issuer.
  if (/^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers)\b/i.test(issuer))
    throw new ConfigError(
      `${name}_ISSUER must name your own tenant, such as https://login.microsoftonline.com/TENANT_ID/v2.0`,
    );
  const scopes = read(`${name}_SCOPES`);
  if (scopes !== undefined && !scopes.split(" ").includes("openid"))
    throw new ConfigError(`${name}_SCOPES must contain openid`);
  return {
    clientId,
    clientSecret,
    baseUrl: issuer,
    timeoutMilliseconds: 10_000,
    oidc: { title: read(`${name}_NAME`), scopes, groupsClaim: read(`${name}_GROUPS_CLAIM`) },
  };
}
