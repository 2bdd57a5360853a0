/** The routes of the console. Every page works without scripts, with links and forms. */
import type { FastifyInstance } from "fastify";
import type { UserCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import { oidcNames } from "../domain/providers.ts";
import { auditPages } from "./audit/audit-routes.ts";
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
import { appPages } from "./connections/app-routes.ts";
import { connectionPages } from "./connections/connection-routes.ts";
import { jobsPages } from "./jobs/jobs-routes.ts";
import { notificationPages } from "./notifications/notification-routes.ts";
import { inTeam, teamOf } from "./page/in-space.ts";
import { sendPage } from "./page/layout.ts";
import { oauthRoutes } from "./people/oauth-routes.ts";
import { overviewPages } from "./overview/overview-routes.ts";
import { operatorPages } from "./people/operator-routes.ts";
import { peoplePages } from "./people/people-routes.ts";
import { deviceLoginPages, signInPages } from "./people/sign-in-routes.ts";
import { problemPages } from "./docs/problem-pages.ts";
import { pullRequestPages } from "./pull-requests/pull-request-routes.ts";
import { schedulePages } from "./schedules/schedule-routes.ts";
import { searchPages } from "./search/search-routes.ts";
import { signedInRoutes } from "./signed-in.ts";
import { teamPages } from "./teams/team-routes.ts";
import { workerPages } from "./workers/worker-routes.ts";
import { invitationPages } from "./teams/invitation-routes.ts";
import { variableSetPages } from "./variable-sets/variable-set-routes.ts";
import { zonePages } from "./zones/zone-routes.ts";

export function consoleRoutes(app: FastifyInstance, context: Context): void {
  app.decorate("pagePermissions", new PagePermissions());
  // A sign-out leads on to the provider, and browsers judge where a form's answer leads too.
  const issuers = oidcNames.flatMap((name) => context.providers[name]?.baseUrl ?? []);
  app.decorate("logoutOrigins", [...new Set(issuers.map((issuer) => new URL(issuer).origin))]);
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
    signInPages(pages, context);

    const signedIn = signedInRoutes(pages, context);
    overviewPages(signedIn, context);
    zonePages(signedIn, context);
    configurationPages(signedIn, context);
    graphPages(signedIn, context);
    identityPages(signedIn, context);
    variableSetPages(signedIn, context);
    connectionPages(signedIn, context);
    appPages(signedIn, context);
    notificationPages(signedIn, context);
    schedulePages(signedIn, context);
    pullRequestPages(signedIn, context);
    jobsPages(signedIn, context);
    jobPages(signedIn, context);
    workerPages(signedIn, context);
    searchPages(signedIn, context);
    peoplePages(signedIn, context);
    auditPages(signedIn, context);
    operatorPages(signedIn, context);
    teamPages(signedIn, context);
    invitationPages(signedIn, context);
    deviceLoginPages(signedIn, context);
  });
}
