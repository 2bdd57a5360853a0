/** A certified OpenID provider like that of a company: groups, refresh tokens and logout. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { exportJWK, generateKeyPair, SignJWT, decodeJwt, type JWTPayload } from "jose";
import { Provider } from "oidc-provider";
import { sendJson, serve } from "./providers.ts";

export interface CompanyProvider {
  readonly url: string;
  /** Who signs in next, and the claims of everyone by subject. A person without claims is disabled. */
  readonly people: Map<string, Readonly<Record<string, unknown>>>;
  subject: string;
  /** Changes the claims of the next ID tokens, which are signed with the provider's key. */
  forge: ((claims: JWTPayload) => JWTPayload) | undefined;
  /** The next answers have no ID token. */
  hasNoIdToken: boolean;
  /** The next ID tokens have a signature of another key. */
  isMissigned: boolean;
  /** The token endpoint answers with `fault`. */
  isDown: boolean;
  fault: { status: number; error: string };
  /** How often the token endpoint was asked. */
  asked: number;
  /** The token endpoint never answers. */
  isSilent: boolean;
  /** How often the keys were fetched. */
  keysFetched: number;
  /** Makes a new key, which signs forged tokens and logout tokens at once. */
  rotate(): Promise<void>;
  /** A logout token with these claims, signed with the provider's key. */
  logoutToken(claims: JWTPayload, header?: { typ?: string }): Promise<string>;
  close(): Promise<void>;
}

export async function startCompanyProvider(redirect_uri: string): Promise<CompanyProvider> {
  const keys: { kid: string; pair: Awaited<ReturnType<typeof generateKeyPair>> }[] = [];
  const rotate = async () => {
    const pair = await generateKeyPair("RS256", { extractable: true });
    keys.push({ kid: `key-${keys.length}`, pair });
  };
  await rotate();
  const jwk = async ({ kid, pair }: (typeof keys)[number], which: "publicKey" | "privateKey") => ({
    ...(await exportJWK(pair[which])),
    kid,
    use: "sig",
    alg: "RS256",
  });
  const key = await jwk(keys[0]!, "privateKey");
  const sign = (claims: JWTPayload, typ?: string) => {
    const { kid, pair } = keys.at(-1)!;
    return new SignJWT(claims)
      .setProtectedHeader({ alg: "RS256", kid, ...(typ === undefined ? {} : { typ }) })
      .sign(pair.privateKey);
  };
  const state = {
    people: new Map<string, Readonly<Record<string, unknown>>>(),
    subject: "",
    forge: undefined as CompanyProvider["forge"],
    hasNoIdToken: false,
    isMissigned: false,
    isDown: false,
    fault: { status: 503, error: "temporarily_unavailable" },
    isSilent: false,
    asked: 0,
    keysFetched: 0,
  };
  const { url, close } = await serve((address) => {
    const provider = new Provider(address, {
      clients: [
        {
          client_id: "client",
          client_secret: "client-secret",
          redirect_uris: [redirect_uri],
          post_logout_redirect_uris: [new URL("/login", redirect_uri).href],
          grant_types: ["authorization_code", "refresh_token"],
          // Makes ID tokens name the session.
          backchannel_logout_uri: new URL("/api/auth/oidc/backchannel-logout", redirect_uri).href,
          backchannel_logout_session_required: true,
        },
      ],
      jwks: { keys: [key] },
      claims: {
        openid: ["sub", "sid", "groups", "_claim_names"],
        email: ["email", "email_verified"],
        profile: ["name", "preferred_username"],
      },
      // The ID token has the claims of all scopes.
      conformIdTokenClaims: false,
      issueRefreshToken: () => true,
      rotateRefreshToken: true,
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
      cookies: { keys: ["a key of this test"] },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      findAccount: (_, accountId) => {
        const claims = state.people.get(accountId);
        return claims && { accountId, claims: () => ({ sub: accountId, ...claims }) };
      },
    });
    const callback = provider.callback();
    const interact = async (incoming: IncomingMessage, response: ServerResponse) => {
      const details = await provider.interactionDetails(incoming, response);
      if (details.prompt.name === "login")
        return provider.interactionFinished(incoming, response, {
          login: { accountId: state.subject },
        });
      const grant = new provider.Grant({ accountId: state.subject, clientId: "client" });
      grant.addOIDCScope(String(details.params["scope"]));
      return provider.interactionFinished(incoming, response, {
        consent: { grantId: await grant.save() },
      });
    };
    return (incoming, response) => {
      if (incoming.url?.startsWith("/interaction/")) return void interact(incoming, response);
      if (incoming.url === "/jwks") state.keysFetched += 1;
      if (incoming.url === "/jwks")
        return void Promise.all(keys.map((one) => jwk(one, "publicKey"))).then((all) =>
          sendJson(response, { keys: all }),
        );
      if (incoming.url === "/token") {
        state.asked += 1;
        if (state.isSilent) return;
        const { status, error } = state.fault;
        if (state.isDown) return sendJson(response, { error }, status);
        forgeIn(response);
      }
      return void callback(incoming, response);
    };
  });

  function forgeIn(response: ServerResponse): void {
    const end = response.end.bind(response) as (text: unknown) => ServerResponse;
    response.end = ((text: unknown) => {
      const { forge, isMissigned } = state;
      const body = JSON.parse(String(text)) as Record<string, unknown>;
      const token = body["id_token"];
      if (typeof token !== "string") return end(text);
      if (state.hasNoIdToken) {
        response.removeHeader("content-length");
        return end(JSON.stringify({ ...body, id_token: undefined }));
      }
      const changed = forge ? sign(forge(decodeJwt(token))) : Promise.resolve(token);
      response.removeHeader("content-length");
      void changed.then((signed) => {
        const id_token = isMissigned ? signed.replace(/[^.]*$/, "A".repeat(342)) : signed;
        end(JSON.stringify({ ...body, id_token }));
      });
      return response;
    }) as typeof response.end;
  }

  return Object.assign(state, {
    url,
    rotate,
    logoutToken: (claims: JWTPayload, { typ = "logout+jwt" }: { typ?: string } = {}) =>
      sign(claims, typ),
    close,
  });
}
