/** Device login (RFC 8628 in shape) and the CLI's token pair. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { Nullable, Timestamp, Uuid } from "./fields.ts";

export const GenerateDeviceLogin = Type.Object(
  { device_code: Uuid },
  { additionalProperties: false },
);
export type GenerateDeviceLogin = Static<typeof GenerateDeviceLogin>;

export const DeviceLogin = Type.Object({
  device_code: Uuid,
  verification_code: Type.String(),
  expires_at: Timestamp,
});
export type DeviceLogin = Static<typeof DeviceLogin>;

/** Any string of 1–16 characters is judged; what is not the code is a wrong code. */
export const ExchangeDeviceLogin = Type.Object({
  device_code: Uuid,
  verification_code: Type.String({ minLength: 1, maxLength: 16 }),
});
export type ExchangeDeviceLogin = Static<typeof ExchangeDeviceLogin>;

const pair = {
  access_token: Type.String(),
  refresh_token: Type.String(),
  token_type: Type.Literal("Bearer"),
  /** Seconds until the access token ends. */
  expires_in: Type.Integer(),
};

export const ExchangedTokens = Type.Object({
  ...pair,
  provider_token: Nullable(Type.String()),
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
    caller: "session",
    body: GenerateDeviceLogin,
    status: 201,
    answer: DeviceLogin,
  }),
  exchangeDeviceLogin: endpoint({
    method: "POST",
    path: "/api/auth/cli/exchange",
    summary: "Exchange device code and verification code for tokens",
    caller: "anyone",
    body: ExchangeDeviceLogin,
    status: 200,
    answer: ExchangedTokens,
  }),
  refreshTokens: endpoint({
    method: "POST",
    path: "/api/auth/cli/refresh",
    summary: "Exchange a refresh token for a new pair",
    caller: "anyone",
    body: RefreshTokens,
    status: 200,
    answer: TokenPair,
  }),
};
