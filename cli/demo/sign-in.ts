/** Signs in exactly as a person does: a one-time link in the browser, a code shown there, the code typed at the client. */
import { randomUUID } from "node:crypto";
import { request } from "undici";
import { authEndpoints } from "../../protocol/auth.ts";
import { call } from "../../protocol/transport.ts";
import { Failure } from "../terminal/output.ts";

/** Opens the link, approves a device login in that session and exchanges its code for an access token. */
export async function signIn(server: string, link: string, signal: AbortSignal): Promise<string> {
  const cookie = await openLink(link, signal);
  const device_code = randomUUID();
  const approved = await call(
    server,
    authEndpoints.generateDeviceLogin,
    { body: { device_code } },
    { headers: { cookie, origin: server }, signal },
  );
  const verification_code = approved?.verification_code ?? "";
  const tokens = await call(
    server,
    authEndpoints.exchangeDeviceLogin,
    { body: { device_code, verification_code } },
    { signal },
  );
  if (tokens === null) throw new Failure("the control plane gave no access token");
  return tokens.access_token;
}

/** What a browser would send back: the cookies that the link's answer set. */
async function openLink(url: string, signal: AbortSignal): Promise<string> {
  const answer = await request(url, { signal });
  await answer.body.dump();
  const cookies = [answer.headers["set-cookie"] ?? []].flat().map((one) => one.split(";")[0]);
  if (answer.statusCode >= 400 || cookies.length === 0) {
    throw new Failure(`the sign-in link was refused with ${answer.statusCode}`);
  }
  return cookies.join("; ");
}
