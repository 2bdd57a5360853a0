/** Sign-in by link, approval of a client, and sign-out. */
import type { FastifyInstance } from "fastify";
import { validate } from "uuid";
import { problemCodes } from "../../../protocol/problem.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { clearSession, setSession } from "../../http/session.ts";
import type { Context } from "../../services/context.ts";
import { findDeviceLogin, generateDeviceLogin } from "../../services/people/device-login.ts";
import { offeredProviders } from "../../services/people/connected-accounts.ts";
import { endLogin, openLink } from "../../services/people/logins.ts";
import { logoutAddress } from "../../services/people/provider-sessions.ts";
import { sendPage } from "../page/layout.ts";
import { findReader, type SignedIn } from "../signed-in.ts";
import { keepNext, nextOf, takeNext } from "./next.ts";
import { approvePage, codePage, deadDevicePage, deadLinkPage, loginPage } from "./sign-in-pages.ts";

/** How often the page of a code looks whether the client has used it, in seconds. */
const refresh = 1;

export function signInPages(pages: FastifyInstance, context: Context): void {
  const offered = offeredProviders(context);
  pages.get("/login", async (request, reply) => {
    const next = nextOf(request.query);
    keepNext(context, request, reply, next);
    const body = loginPage(next, offered, "unsent" in (request.query as object));
    sendPage(reply, { title: "Sign in", body });
    return reply;
  });
  // No HEAD: a link preview must not use up the link.
  pages.get("/login/link/:token", { exposeHeadRoute: false }, async (request, reply) => {
    reply.headers({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
    const { token } = request.params as { token: string };
    const caller = await openLink(context, token, request);
    if (!caller) {
      const reader = await findReader(context, request, reply);
      request.caller = reader;
      const email = reader?.email;
      sendPage(reply, { title: "Link used up", body: deadLinkPage(email), email }, 410);
      return reply;
    }
    await setSession(context, reply, caller);
    return reply.redirect(takeNext(context, request, reply), 303);
  });
}

/** Approves a client, and signs out. */
export function deviceLoginPages(signedIn: SignedIn, context: Context): void {
  signedIn.get("/cli/login", "read", async (caller, { query }, reply) => {
    const { email } = caller;
    const deviceCode = deviceCodeOf(query);
    const found =
      deviceCode === undefined ? undefined : await findDeviceLogin(context, caller, deviceCode);
    const body = found
      ? codePage(found)
      : deviceCode
        ? approvePage(deviceCode, email)
        : deadDevicePage("The address has no valid device code");
    const page = { title: "Sign in the client", email, body };
    // Only a code that waits to be typed can change.
    const isWaiting = found?.state === "waiting";
    sendPage(reply, isWaiting ? { ...page, refresh } : page, deviceCode ? 200 : 400);
  });
  signedIn.post("/cli/login", "generateDeviceLogin", async (caller, { body }, reply) => {
    const deviceCode = deviceCodeOf(body);
    const page = { title: "Sign in the client", email: caller.email };
    try {
      if (!deviceCode)
        throw new RefusalError("invalid_request", "The form has no valid device code");
      const login = await generateDeviceLogin(context, caller, deviceCode);
      const code = { ...login, state: "waiting" } as const;
      sendPage(reply, { ...page, refresh, body: codePage(code) });
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      sendPage(reply, { ...page, body: deadDevicePage(error.message) }, statusOf(error));
    }
  });
  signedIn.post("/logout", "account", async (caller, _, reply) => {
    const next = await logoutAddress(context, caller.login_id);
    await endLogin(context, caller);
    clearSession(context, reply);
    reply.redirect(next ?? "/login", 303);
  });
}

const statusOf = ({ code }: RefusalError): number => problemCodes[code][0];

function deviceCodeOf(fields: unknown): string | undefined {
  const { device_code: code } = (fields ?? {}) as { device_code?: unknown };
  return typeof code === "string" && validate(code) ? code : undefined;
}
