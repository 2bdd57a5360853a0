/** Device login (RFC 8628 in shape) and the CLI's token pair. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, Nullable, Timestamp, Uuid } from "./fields.ts";

export const GenerateDeviceLogin = Type.Object(
  { device_code: Uuid },
  { additionalProperties: false },
);
export type GenerateDeviceLogin = Static<typeof GenerateDeviceLogin>;

export const DeviceLogin = Type.Object({
  device_code: Uuid,
  verification_code: about(Type.String(), "Six characters, shown to the person who approves."),
  expires_at: Timestamp,
});
export type DeviceLogin = Static<typeof DeviceLogin>;

/** Any string of 1–16 characters is judged; what is not the code is a wrong code. */
export const ExchangeDeviceLogin = Type.Object({
  device_code: about(Uuid, "Made by the client, and opened in the browser."),
  verification_code: Type.String({
    minLength: 1,
    maxLength: 16,
    description: "As the browser shows it, in any case.",
  }),
});
export type ExchangeDeviceLogin = Static<typeof ExchangeDeviceLogin>;

const pair = {
  access_token: Type.String(),
  refresh_token: Type.String(),
  token_type: Type.Literal("Bearer"),
  expires_in: about(Type.Integer(), "Seconds until the access token ends."),
};

export const ExchangedTokens = Type.Object({
  ...pair,
  provider_token: about(
    Nullable(Type.String()),
    "The token of the code host that the person signed in with.",
  ),
  user_email: Type.String(),
});
export type ExchangedTokens = Static<typeof ExchangedTokens>;

export const RefreshTokens = Type.Object({
  refresh_token: Type.String({ maxLength: 4096 }),
});
export type RefreshTokens = Static<typeof RefreshTokens>;

export const TokenPair = Type.Object(pair);
export type TokenPair = Static<typeof TokenPair>;

export const authEndpoints = {
  generateDeviceLogin: endpoint({
    method: "POST",
    path: "/api/auth/cli/generate",
    summary: "Approve a device login and get its verification code",
    description:
      "The answer is shown to the person, who types it into the client. The same person asking again for the same device code gets the same verification code until it expires.",
    caller: "session",
    body: GenerateDeviceLogin,
    status: 201,
    answer: DeviceLogin,
    refusals: ["device_code_used", "device_code_taken"],
  }),
  exchangeDeviceLogin: endpoint({
    method: "POST",
    path: "/api/auth/cli/exchange",
    summary: "Exchange device code and verification code for tokens",
    description:
      "Polled by the client. `authorization_pending`: not approved yet, or unknown. Five wrong verification codes burn the device code. Refused exchanges count against a limit of 60 a minute and address, 10 a minute and device code.",
    caller: "anyone",
    body: ExchangeDeviceLogin,
    status: 200,
    answer: ExchangedTokens,
    refusals: [
      "authorization_pending",
      "invalid_verification_code",
      "expired_token",
      "too_many_requests",
    ],
  }),
  refreshTokens: endpoint({
    method: "POST",
    path: "/api/auth/cli/refresh",
    summary: "Exchange a refresh token for a new pair",
    description:
      "Both tokens are new and the old refresh token is dead at once. Using one again later than 10 s after its replacement revokes the whole login.",
    caller: "anyone",
    body: RefreshTokens,
    status: 200,
    answer: TokenPair,
    refusals: ["invalid_refresh_token"],
  }),
};
