/** People in browsers, who sign in as users do: one-time link, browser session, device login. */
import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { call } from "../../../protocol/transport.ts";
import type { ExchangedTokens } from "../../../protocol/auth.ts";
import { signToken } from "../../../control-plane/services/people/jwt.ts";
import { createLink } from "../../../control-plane/services/people/logins.ts";
import { submit, type Fields } from "../console/forms.ts";
import { callsOf } from "../plane/calls.ts";
import { ask, readRow, type TestResponse, type Plane } from "../plane/plane.ts";

/** Returns the path of a new one-time link. */
export async function newLink({ context }: Plane, email: string): Promise<string> {
  return `/login/link/${await createLink(context.store, email, context.now())}`;
}

/** Signs in a person in a browser by a one-time link, a new user if no e-mail is given. */
export async function openPerson(plane: Plane, email = `${randomUUID()}@example.com`) {
  const opened = await ask(plane, "GET", await newLink(plane, email));
  const cookie = cookieOf(opened);
  if (cookie === undefined) throw new Error(`the link returned ${opened.status}`);
  const headers = { cookie, origin: plane.url };
  const { id } = await readRow(plane, "users", { email });
  return {
    id,
    email,
    /** The headers of a request from a page of the console. */
    headers,
    client: callsOf(plane, headers),
    page: (path: string) => ask(plane, "GET", path, { headers }),
    post: (path: string, fields: Fields | string = {}) => submit(plane, path, fields, headers),
  };
}
export type Person = Awaited<ReturnType<typeof openPerson>>;

/** The headers of a browser whose cookie was set so many milliseconds ago. */
export async function agedHeaders<H extends { readonly cookie: string }>(
  { context: { jwtSecret } }: Plane,
  headers: H,
  milliseconds: number,
): Promise<H> {
  const [name = "", token = ""] = headers.cookie.split("=");
  const claims = decodeJwt<{ email: string; sid: string }>(token);
  const { sub = "", jti = "", email, sid } = claims;
  const now = () => Number(claims.iat) * 1000 - milliseconds;
  const aged = await signToken({ jwtSecret, now }, "session", { sub, jti, email, sid });
  return { ...headers, cookie: `${name}=${aged}` };
}

/** Returns `name=value` of the cookie that a response sets. */
export function cookieOf({ headers }: TestResponse): string | undefined {
  const line = headers["set-cookie"];
  return (Array.isArray(line) ? line[0] : line)?.split(";")[0];
}

/** Approves a device login in a browser and returns its two codes. */
export async function approve(
  { url }: Pick<Plane, "url">,
  { headers }: Pick<Person, "headers">,
  device_code: string = randomUUID(),
): Promise<{ device_code: string; verification_code: string; expires_at: string }> {
  const login = await call(url, "generateDeviceLogin", { body: { device_code } }, { headers });
  if (!login) throw new Error("the response is empty");
  return login;
}

/** Signs in a client and returns its tokens. */
export async function signIn(
  plane: Plane,
  person?: Pick<Person, "headers">,
): Promise<ExchangedTokens> {
  const { device_code, verification_code } = await approve(
    plane,
    person ?? (await openPerson(plane)),
  );
  const body = { device_code, verification_code };
  const tokens = await call(plane.url, "exchangeDeviceLogin", { body });
  if (!tokens) throw new Error("the response is empty");
  return tokens;
}

/** The origin for tests that call a service directly. */
export const origin = { ip: "127.0.0.1", id: "test", headers: {} };

/** Returns the header of a bearer token. */
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
