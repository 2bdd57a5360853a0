/** The routes of the console. Every page works without scripts, with links and forms. */
import type { FastifyInstance } from "fastify";
import { validate } from "uuid";
import { clearSession, setSession } from "../http/session.ts";
import { problemCodes } from "../../protocol/problem.ts";
import { providerNames, providerTitles } from "../domain/providers.ts";
import { RefusalError } from "../domain/refusal.ts";
import type { UserCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import { findDeviceLogin, generateDeviceLogin } from "../services/people/device-login.ts";
import { endLogin, openLink } from "../services/people/logins.ts";
import { assetRoutes } from "./assets.ts";
import { designPage } from "./design-page.ts";
import { sendErrorPage } from "./error-page.ts";
import { configurationPages } from "./configurations/configuration-routes.ts";
import { graphPages } from "./graphs/graph-routes.ts";
import { docsRoutes } from "./docs/docs-routes.ts";
import { PagePermissions } from "./page-permissions.ts";
import { readForms } from "./page/form-body.ts";
import { identityPages } from "./identities/identity-routes.ts";
import { jobPages } from "./jobs/job-routes.ts";
import { jobsPages } from "./jobs/jobs-routes.ts";
import { inTeam, teamOf } from "./page/in-space.ts";
import { sendPage } from "./page/layout.ts";
import { keepNext, nextOf, takeNext } from "./people/next.ts";
import { oauthRoutes } from "./people/oauth-routes.ts";
import { overviewPages } from "./overview/overview-routes.ts";
import { operatorPages } from "./people/operator-routes.ts";
import { peoplePages } from "./people/people-routes.ts";
import {
  approvePage,
  codePage,
  deadDevicePage,
  deadLinkPage,
  loginPage,
} from "./people/sign-in-pages.ts";
import { problemPages } from "./docs/problem-pages.ts";
import { searchPages } from "./search/search-routes.ts";
import { findReader, signedInRoutes } from "./signed-in.ts";
import { teamPages } from "./teams/team-routes.ts";
import { workerPages } from "./workers/worker-routes.ts";
import { invitationPages } from "./teams/invitation-routes.ts";
import { variableSetPages } from "./variable-sets/variable-set-routes.ts";
import { zonePages } from "./zones/zone-routes.ts";

/** How often the page of a code looks whether the client has used it, in seconds. */
const refresh = 1;

export function consoleRoutes(app: FastifyInstance, context: Context): void {
  const offered = providerNames
    .filter((name) => context.providers[name] !== undefined)
    .map((name) => ({ name, title: providerTitles[name] }));
  app.decorate("pagePermissions", new PagePermissions());
  app.register(async (pages) => {
    readForms(pages);
    // An error on a page is shown as a page.
    pages.setErrorHandler((error, request, reply) => sendErrorPage(context, error, request, reply));

    // After a form, a list is that of the same team.
    pages.addHook("onSend", (request, reply, payload, done) => {
      const location = reply.getHeader("location");
      const caller = request.caller as UserCaller | null;
      if (typeof location === "string" && caller)
        reply.header("location", inTeam(location, teamOf(caller)));
      done(null, payload);
    });

    assetRoutes(pages);
    oauthRoutes(pages, context);
    docsRoutes(pages);
    problemPages(pages);
    // A build has no sources.
    if (import.meta.filename.endsWith(".ts"))
      pages.get("/design", async (_, reply) => {
        sendPage(reply, { title: "Design", body: designPage() });
      });
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

    const signedIn = signedInRoutes(pages, context);
    overviewPages(signedIn, context);
    zonePages(signedIn, context);
    configurationPages(signedIn, context);
    graphPages(signedIn, context);
    identityPages(signedIn, context);
    variableSetPages(signedIn, context);
    jobsPages(signedIn, context);
    jobPages(signedIn, context);
    workerPages(signedIn, context);
    searchPages(signedIn, context);
    peoplePages(signedIn, context);
    operatorPages(signedIn, context);
    teamPages(signedIn, context);
    invitationPages(signedIn, context);
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
      await endLogin(context, caller);
      clearSession(context, reply);
      reply.redirect("/login", 303);
    });
  });
}

const statusOf = ({ code }: RefusalError): number => problemCodes[code][0];

function deviceCodeOf(fields: unknown): string | undefined {
  const { device_code: code } = (fields ?? {}) as { device_code?: unknown };
  return typeof code === "string" && validate(code) ? code : undefined;
}
