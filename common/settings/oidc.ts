/** The settings of OpenID Connect providers. */
import type { Settings } from "./setting.ts";

const credential = { type: "secret", minBytes: 1, otherwise: "off" } as const;

const oidcFields = {
  ISSUER: {
    type: "url",
    isExact: true,
    example: "https://sso.example.com/realms/company",
    otherwise: "off",
    help: "the issuer of an OpenID Connect provider",
    details:
      "Exactly as its discovery document has it. Register `/api/auth/callback` as redirect, `/login` as the address after a logout, and `/api/auth/oidc/backchannel-logout` (of a second provider `/api/auth/oidc_2/backchannel-logout`) for back-channel logout, each below the public address",
  },
  CLIENT_ID: { ...credential, help: "the id of its client for this server" },
  CLIENT_SECRET: { ...credential, help: "the secret of that client" },
  NAME: {
    type: "text",
    maxLength: 40,
    expected: "a name of up to 40 characters",
    otherwise: "the issuer",
    help: "what the pages call the provider",
  },
  SCOPES: {
    type: "text",
    pattern: /^[\u0021\u0023-\u005b\u005d-\u007e]+( [\u0021\u0023-\u005b\u005d-\u007e]+)*$/,
    expected: "scopes separated by single spaces, with openid among them",
    otherwise: "openid email profile, and offline_access if the provider has it",
    help: "which scopes a sign-in asks for",
    details:
      "With a refresh token (`offline_access`), the provider is asked anew while a person uses the server. Without one, a sign-in counts for `WINDLASS_OIDC_HOURS`",
  },
  GROUPS_CLAIM: {
    type: "text",
    maxLength: 200,
    default: "groups",
    help: "the claim that has the groups of a person",
    details: "Keys joined by dots lead into objects. A key with dots in it is tried first",
  },
} as const satisfies Settings;

type OidcSettingsOf<P extends string> = {
  readonly [F in keyof typeof oidcFields as `${P}_${F}`]: (typeof oidcFields)[F];
};

/** The settings of one more provider. */
const oidcWith = <P extends string>(prefix: P): OidcSettingsOf<P> =>
  Object.fromEntries(
    Object.entries(oidcFields).map(([field, setting]) => [`${prefix}_${field}`, setting]),
  ) as unknown as OidcSettingsOf<P>;

export const oidc = {
  WINDLASS_OIDC_ISSUER: oidcFields.ISSUER,
  WINDLASS_OIDC_CLIENT_ID: oidcFields.CLIENT_ID,
  WINDLASS_OIDC_CLIENT_SECRET: oidcFields.CLIENT_SECRET,
  WINDLASS_OIDC_NAME: oidcFields.NAME,
  WINDLASS_OIDC_SCOPES: oidcFields.SCOPES,
  WINDLASS_OIDC_GROUPS_CLAIM: oidcFields.GROUPS_CLAIM,
  WINDLASS_OIDC_REFRESH_MINUTES: {
    type: "integer",
    min: 1,
    max: 1440,
    default: 15,
    help: "after how many minutes a provider is asked anew",
    details: "Only with a refresh token, and while the person uses the server",
  },
  WINDLASS_OIDC_HOURS: {
    type: "integer",
    min: 1,
    max: 8760,
    default: 24,
    help: "how long logins last without an answer of their provider, in hours",
  },
} as const satisfies Settings;

/** Of the second to the ninth provider. The registry has those of the first for all. */
export const moreOidc = {
  ...oidcWith("WINDLASS_OIDC_2"),
  ...oidcWith("WINDLASS_OIDC_3"),
  ...oidcWith("WINDLASS_OIDC_4"),
  ...oidcWith("WINDLASS_OIDC_5"),
  ...oidcWith("WINDLASS_OIDC_6"),
  ...oidcWith("WINDLASS_OIDC_7"),
  ...oidcWith("WINDLASS_OIDC_8"),
  ...oidcWith("WINDLASS_OIDC_9"),
} as const satisfies Settings;
