/**
 * Real OAuth servers on the loopback in the forms of the four providers, and a browser that follows
 * redirects with a cookie jar.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { OAuth2Server } from "oauth2-mock-server";
import { Provider } from "oidc-provider";
import { request } from "undici";

export interface FakeProvider {
  readonly url: string;
  /** Who signs in next, and whether the provider has verified the e-mail. */
  readonly person: { subject: string; email: string; verified: boolean };
  /** GitHub: other addresses of that user, and whether each is verified. */
  readonly others: Map<string, boolean>;
  /** The membership responses of the API, by path. Other paths return 404. */
  readonly memberships: Map<string, { status: number; body: unknown }>;
  close(): Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts a server on a free port. Its handler is created when the address is known. */
export async function serve(
  make: (url: string) => Handler | Promise<Handler>,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on("request", await make(url));
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url, close };
}

export const sendJson = (response: ServerResponse, body: unknown, status = 200): void =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

const newPerson = () => ({ subject: "4711", email: "ada@example.com", verified: true });

/**
 * Starts a provider like GitHub or Bitbucket: OAuth without an ID token, and an API for the user's
 * data.
 */
export async function startPlainProvider(kind: "github" | "bitbucket"): Promise<FakeProvider> {
  const person = newPerson();
  const others: FakeProvider["others"] = new Map();
  const memberships: FakeProvider["memberships"] = new Map();
  /** The scopes of each code and of each token. */
  const [asked, granted] = [new Map<string, string>(), new Map<string, string>()];
  const base = kind === "github" ? "/login/oauth" : "/site/oauth2";
  const api = kind === "github" ? "/api/v3" : "/2.0";
  const { url, close } = await serve(async (address) => {
    const server = new OAuth2Server(undefined, undefined, {
      endpoints: { authorize: `${base}/authorize`, token: `${base}/access_token` },
    });
    server.issuer.url = address;
    await server.issuer.keys.generate("RS256");
    // Tokens of one second would be equal.
    server.service.on("beforeTokenSigning", ({ payload }) => {
      payload["jti"] = randomUUID();
    });
    server.service.on("beforeAuthorizeRedirect", ({ url: { searchParams } }, { query }) => {
      asked.set(searchParams.get("code") ?? "", String(query["scope"]));
    });
    server.service.on("beforeResponse", (answer, { body }) => {
      if (typeof answer.body !== "object") return;
      delete answer.body["id_token"];
      // GitHub separates them by a comma here, and by a comma and a space in the header.
      const scopes = asked.get(String(body["code"]))?.split(" ") ?? [];
      answer.body["scope"] = scopes.join(",");
      granted.set(String(answer.body["access_token"]), scopes.join(", "));
    });
    return (incoming, response) => {
      const { email, verified, subject } = person;
      if (kind === "github" && incoming.url?.startsWith(api)) {
        const scopes = granted.get(incoming.headers.authorization?.slice("Bearer ".length) ?? "");
        if (scopes === undefined) return sendJson(response, { message: "Bad credentials" }, 401);
        response.setHeader("x-oauth-scopes", scopes);
      }
      if (incoming.url === `${api}/user`)
        return sendJson(response, kind === "github" ? { id: Number(subject) } : { uuid: subject });
      if (incoming.url?.startsWith(`${api}/user/memberships/`))
        return sendMembership(memberships, incoming, response);
      if (incoming.url?.startsWith(`${api}/user/repos?`)) return sendJson(response, [repository]);
      if (incoming.url === `${api}/user/emails`)
        return sendJson(
          response,
          kind === "github"
            ? [
                ...[...others].map(([other, is]) => ({
                  email: other,
                  primary: false,
                  verified: is,
                })),
                { email, primary: true, verified },
              ]
            : { values: [{ email, is_primary: true, is_confirmed: verified }] },
        );
      refuseAs(kind, response);
      server.service.requestHandler(incoming, response);
    };
  });
  return { url, person, others, memberships, close };
}

function sendMembership(
  memberships: FakeProvider["memberships"],
  { url = "", headers }: IncomingMessage,
  response: ServerResponse,
): void {
  if (!headers.authorization?.startsWith("Bearer ")) return sendJson(response, {}, 401);
  const { status, body } = memberships.get(url) ?? { status: 404, body: {} };
  sendJson(response, body, status);
}

/** The repositories of a user at GitHub. */
const repository = {
  id: 1,
  full_name: "ada/network",
  clone_url: "https://github.com/ada/network.git",
  default_branch: "main",
  private: true,
};

/**
 * Replaces the refusals of the mock by those of the two hosts: GitHub sends them with status 200.
 */
function refuseAs(kind: "github" | "bitbucket", response: ServerResponse): void {
  const end = response.end.bind(response) as (text: unknown) => ServerResponse;
  response.end = ((text: unknown) => {
    if (response.statusCode !== 400) return end(text);
    response.removeHeader("content-length");
    response.setHeader("content-type", "application/json");
    if (kind === "github") response.statusCode = 200;
    return end(
      JSON.stringify({ error: kind === "github" ? "bad_verification_code" : "invalid_grant" }),
    );
  }) as typeof response.end;
}

/**
 * Starts a provider like GitLab or Google: a certified OpenID provider that signs in every visitor.
 */
export async function startOpenIdProvider(redirect_uri: string): Promise<FakeProvider> {
  const person = newPerson();
  const others: FakeProvider["others"] = new Map();
  const memberships: FakeProvider["memberships"] = new Map();
  const { url, close } = await serve((address) => {
    const provider = new Provider(address, {
      clients: [
        {
          client_id: "client",
          client_secret: "client-secret",
          redirect_uris: [redirect_uri],
          token_endpoint_auth_method: "client_secret_post",
        },
      ],
      claims: { openid: ["sub"], email: ["email", "email_verified"] },
      scopes: ["openid", "email", "read_api"],
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      cookies: { keys: ["a key of this test"] },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      findAccount: (_, accountId) => ({
        accountId,
        claims: () => ({ sub: accountId, email: person.email, email_verified: person.verified }),
      }),
    });
    const callback = provider.callback();
    const interact = async (incoming: IncomingMessage, response: ServerResponse) => {
      const details = await provider.interactionDetails(incoming, response);
      if (details.prompt.name === "login")
        return provider.interactionFinished(incoming, response, {
          login: { accountId: person.subject },
        });
      const grant = new provider.Grant({ accountId: person.subject, clientId: "client" });
      grant.addOIDCScope("openid email read_api");
      return provider.interactionFinished(incoming, response, {
        consent: { grantId: await grant.save() },
      });
    };
    return (incoming, response) => {
      if (incoming.url?.startsWith("/api/v4/groups/"))
        sendMembership(memberships, incoming, response);
      else if (incoming.url?.startsWith("/interaction/")) void interact(incoming, response);
      else void callback(incoming, response);
    };
  });
  return { url, person, others, memberships, close };
}

/** The end of a chain of redirects. */
export interface Visit {
  readonly url: string;
  readonly status: number;
  readonly text: string;
  /** Every address on the way. */
  readonly way: readonly string[];
}

/**
 * A browser with one cookie jar per host and port. It follows redirects until `until` returns true.
 */
export class TestBrowser {
  readonly jars = new Map<string, Map<string, string>>();

  async visit(address: string, until: (url: string) => boolean = () => false): Promise<Visit> {
    const way = [address];
    for (let url = address; ;) {
      const { host } = new URL(url);
      const jar = this.jars.get(host) ?? new Map<string, string>();
      this.jars.set(host, jar);
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
      const answer = await request(url, { headers: cookie ? { cookie } : {} });
      const text = await answer.body.text();
      for (const line of [answer.headers["set-cookie"] ?? []].flat()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        if (value === "" || /max-age=0/i.test(line)) jar.delete(name);
        else jar.set(name, value);
      }
      const { location } = answer.headers;
      if (typeof location !== "string") return { url, status: answer.statusCode, text, way };
      url = new URL(location, url).href;
      way.push(url);
      if (until(url)) return { url, status: answer.statusCode, text, way };
    }
  }
}
