/** The issuer of tokens for jobs, as clouds and Vault read it. */
import { Type } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about } from "./fields.ts";

/** How long what the issuer publishes may be cached, in seconds. */
export const issuerCacheSeconds = 300;

const Issuer = Type.Object({
  issuer: about(Type.String(), "`WINDLASS_ISSUER_URL`, by default the public address."),
  jwks_uri: Type.String(),
  response_types_supported: Type.Array(Type.String()),
  subject_types_supported: Type.Array(Type.String()),
  id_token_signing_alg_values_supported: Type.Array(Type.String()),
  scopes_supported: Type.Array(Type.String()),
  claims_supported: Type.Array(Type.String()),
});

const IssuerKeys = Type.Object({
  keys: Type.Array(
    Type.Object({
      kty: Type.String(),
      n: Type.String(),
      e: Type.String(),
      alg: Type.String(),
      use: Type.String(),
      kid: Type.String(),
    }),
  ),
});

export const issuerEndpoints = {
  readIssuer: endpoint("GET /.well-known/openid-configuration", {
    summary: "Read what the issuer of the jobs' tokens is",
    caller: "anyone",
    answer: Issuer,
  }),
  readIssuerKeys: endpoint("GET /.well-known/jwks.json", {
    summary: "Read the keys with which the jobs' tokens are checked",
    description: "None before the first cloud identity whose jobs get tokens.",
    caller: "anyone",
    answer: IssuerKeys,
  }),
};
