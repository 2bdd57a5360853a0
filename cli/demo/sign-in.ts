/** Signs in as a user does: one-time link, device code, verification code. */
import { randomUUID } from "node:crypto";
import { request } from "../../common/http-client.ts";
import { call } from "../../protocol/transport.ts";
import { CliError } from "../terminal/output.ts";

/** Opens the link, approves a device login there, and returns an access token for its code. */
export async function signIn(server: string, link: string, signal: AbortSignal): Promise<string> {
  const cookie = await openLink(link, signal);
  const device_code = randomUUID();
  const approved = await call(
    server,
    "generateDeviceLogin",
    { body: { device_code } },
    { headers: { cookie, origin: server }, signal },
  );
  const verification_code = approved?.verification_code ?? "";
  const tokens = await call(
    server,
    "exchangeDeviceLogin",
    { body: { device_code, verification_code } },
    { signal },
  );
  if (tokens === null) throw new CliError("The control plane returned no access token.");
  return tokens.access_token;
}

/** Opens the link and returns the cookies that a browser would send from then on. */
async function openLink(url: string, signal: AbortSignal): Promise<string> {
  const response = await request(url, { signal });
  await response.body.dump();
  const cookies = [response.headers["set-cookie"] ?? []].flat().map((one) => one.split(";")[0]);
  if (response.statusCode >= 400 || cookies.length === 0) {
    throw new CliError(`The sign-in link was refused with status ${response.statusCode}.`);
  }
  return cookies.join("; ");
}
