/** Signing in with a browser: the start and the end of the OAuth flow. A person who goes wrong there sees a page, not a problem document. */
import { Type } from "typebox";
import { endpoint } from "./endpoint.ts";

export const signInEndpoints = {
  startSignIn: endpoint({
    method: "GET",
    path: "/api/auth/login/{provider}",
    summary: "Send the browser to a provider to sign in",
    caller: "anyone",
    params: Type.Object({
      provider: Type.String({
        description: "`github`, `gitlab`, `bitbucket` or `google`, if it is switched on here.",
        examples: ["github"],
      }),
    }),
    query: Type.Object({
      next: Type.Optional(
        Type.String({ description: "The page of this site to come back to.", examples: ["/jobs"] }),
      ),
    }),
    media: "text/html",
    status: 303,
    also: {
      400: "A page: the provider refused.",
      403: "A page: another site began this for somebody who is signed in.",
      404: "A page: this provider is not offered here.",
      424: "A page: the provider cannot be reached.",
    },
  }),
  finishSignIn: endpoint({
    method: "GET",
    path: "/api/auth/callback",
    summary: "Come back from the provider, signed in",
    description: "Sets the session cookie and goes on to the page that the sign-in began at.",
    caller: "anyone",
    query: Type.Object({
      state: Type.Optional(Type.String({ description: "As the start of the sign-in made it." })),
      code: Type.Optional(Type.String({ description: "The provider's authorization code." })),
      error: Type.Optional(Type.String({ description: "Why the provider gave no code." })),
    }),
    media: "text/html",
    status: 303,
    also: {
      400: "A page: too late, of another browser, or refused by the person or the provider.",
      403: "A page: the account has no verified e-mail address.",
      404: "A page: the provider was switched off meanwhile.",
      409: "A page: the account or the browser belongs to somebody else.",
      424: "A page: the provider cannot be reached.",
    },
  }),
};
