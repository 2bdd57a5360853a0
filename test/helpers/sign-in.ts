/** Signing in the way people do it: one-time link, browser session, device login. */
import { randomUUID } from "node:crypto";
import { endpoints } from "../../protocol/endpoints.ts";
import { call } from "../../protocol/transport.ts";
import type { ExchangedTokens } from "../../protocol/auth.ts";
import { createLink } from "../../control-plane/services/people/logins.ts";
import { ask, type Answer, type Plane } from "./plane.ts";

/** A signed-in browser. */
export interface Browser {
  readonly email: string;
  /** The headers of a request that a page of the console makes. */
  readonly headers: { readonly cookie: string; readonly origin: string };
}

/** The path of a new one-time link. */
export async function newLink({ context }: Plane, email: string): Promise<string> {
  return `/login/link/${await createLink(context.store, email, context.now())}`;
}

/** Opens a one-time link, as a new person where no e-mail is given. */
export async function openBrowser(
  plane: Plane,
  email = `${randomUUID()}@example.com`,
): Promise<Browser> {
  const opened = await ask(plane, "GET", await newLink(plane, email));
  const cookie = cookieOf(opened);
  if (cookie === undefined) throw new Error(`the link was answered ${opened.status}`);
  return { email, headers: { cookie, origin: plane.url } };
}

/** `name=value` of the cookie that an answer sets. */
export function cookieOf({ headers }: Answer): string | undefined {
  const line = headers["set-cookie"];
  return (Array.isArray(line) ? line[0] : line)?.split(";")[0];
}

/** Approves a device login in a browser; answers its two codes. */
export async function approve(
  { url }: Pick<Plane, "url">,
  { headers }: Browser,
  device_code: string = randomUUID(),
): Promise<{ device_code: string; verification_code: string; expires_at: string }> {
  const login = await call(
    url,
    endpoints.generateDeviceLogin,
    { body: { device_code } },
    { headers },
  );
  if (!login) throw new Error("there is no answer");
  return login;
}

/** The whole way to the tokens of a command line. */
export async function signIn(plane: Plane, browser?: Browser): Promise<ExchangedTokens> {
  const { device_code, verification_code } = await approve(
    plane,
    browser ?? (await openBrowser(plane)),
  );
  const body = { device_code, verification_code };
  const tokens = await call(plane.url, endpoints.exchangeDeviceLogin, { body });
  if (!tokens) throw new Error("there is no answer");
  return tokens;
}

/** Where a test that calls a service itself comes from. */
export const origin = { ip: "127.0.0.1", id: "test", headers: {} };

/** The header of a token. */
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
