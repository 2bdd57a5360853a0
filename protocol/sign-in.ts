/** Signing in with a browser (OAuth). Errors are shown as pages, not as problem documents. */
import { Type } from "typebox";
import { kibibyte } from "../common/units.ts";
import { endpoint } from "./endpoint.ts";

/** The form of a back-channel logout, in bytes: a token with a few claims. */
export const logoutBytesLimit = 64 * kibibyte;

export const signInEndpoints = {
  startSignIn: endpoint("GET /api/auth/login/{provider}", {
    summary: "Send the browser to a provider to sign in",
    caller: "anyone",
    params: {
      provider: Type.String({
        description:
          "`github`, `gitlab`, `bitbucket`, `google`, or `oidc`, `oidc_2` to `oidc_9`, if it is enabled.",
        examples: ["github"],
      }),
    },
    query: {
      next: Type.Optional(
        Type.String({ description: "The page of this site to return to.", examples: ["/jobs"] }),
      ),
    },
    media: "text/html",
    status: 303,
    also: {
      400: "A page: the provider refused.",
      403: "A page: another site started this for a signed-in user.",
      404: "A page: this provider is not enabled.",
      424: "A page: the provider cannot be reached.",
    },
  }),
  finishSignIn: endpoint("GET /api/auth/callback", {
    summary: "Return from the provider, signed in",
    description: "Sets the session cookie and redirects to the page where the sign-in started.",
    caller: "anyone",
    query: {
      state: Type.Optional(
        Type.String({ description: "The value from the start of the sign-in." }),
      ),
      code: Type.Optional(Type.String({ description: "The provider's authorization code." })),
      error: Type.Optional(
        Type.String({ description: "The error of the provider, if there is no code." }),
      ),
    },
    media: "text/html",
    status: 303,
    also: {
      200: "A page: signed in, with what the provider has left out.",
      400: "A page: too late, from another browser, or refused by the user or the provider.",
      403: "A page: the account may not sign in here.",
      404: "A page: the provider has been disabled.",
      409: "A page: the account or the browser belongs to another user.",
      424: "A page: the provider cannot be reached.",
    },
  }),
  endByProvider: endpoint("POST /api/auth/{provider}/backchannel-logout", {
    summary: "Receive a back-channel logout of an OpenID Connect provider",
    description:
      "OpenID Connect Back-Channel Logout 1.0: the form field `logout_token`. Ends the logins that came from this session at the provider, or all of the person there if the token has no `sid`. A token works once.",
    caller: "anyone",
    params: {
      provider: Type.String({
        description: "`oidc`, or `oidc_2` to `oidc_9`.",
        examples: ["oidc"],
      }),
    },
    bytes: "request",
    media: "application/x-www-form-urlencoded",
    bodyLimit: logoutBytesLimit,
    status: 200,
    refusals: ["invalid_request", "not_found", "provider_unavailable"],
  }),
};
