/** The pages' routes: plain forms, no script. */
import { stripVTControlCharacters } from "node:util";
import formbody from "@fastify/formbody";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { validate } from "uuid";
import type { UserCaller } from "../auth/callers.ts";
import { clearSession, findSession, refuseForeignOrigin, setSession } from "../auth/session.ts";
import { problemCodes } from "../../protocol/problem.ts";
import { providerNames, providerTitles } from "../domain/providers.ts";
import { Refusal, sendProblem } from "../problem.ts";
import type { Context } from "../services/context.ts";
import { generateDeviceLogin } from "../services/device-login.ts";
import { getJob, listJobs } from "../services/jobs.ts";
import { endLogin, openLink } from "../services/logins.ts";
import { readLog } from "../services/logs.ts";
import { listWorkers } from "../services/workers.ts";
import { docsRoutes } from "./docs-routes.ts";
import { sendPage, styles } from "./layout.ts";
import { nextOf } from "./next.ts";
import { oauthRoutes } from "./oauth-routes.ts";
import {
  approvePage,
  codePage,
  deadDevicePage,
  deadLinkPage,
  jobPage,
  loginPage,
  overviewPage,
  refusalPage,
} from "./pages.ts";
import { problemPages } from "./problem-pages.ts";

const jobsShown = 25;
/** Chunks of a log that the plain page shows; the whole log is at /api/cli/jobs/{id}/logs. */
const chunksShown = 200;

/** Adds the pages. */
export function consoleRoutes(app: FastifyInstance, context: Context): void {
  const offered = providerNames
    .filter((name) => context.providers[name] !== undefined)
    .map((name) => ({ name, title: providerTitles[name] }));
  app.register(async (pages) => {
    await pages.register(formbody);
    // A person who goes wrong on a page sees a page.
    pages.setErrorHandler((error, request, reply) => {
      if (!(error instanceof Refusal)) return sendProblem(error, request, reply);
      const title = problemCodes[error.code][1];
      sendPage(reply, { title, body: refusalPage(title, error.message) }, statusOf(error));
    });

    pages.get("/assets/windlass.css", async (_, reply) =>
      reply.type("text/css; charset=utf-8").header("cache-control", "max-age=300").send(styles),
    );
    oauthRoutes(pages, context);
    docsRoutes(pages);
    problemPages(pages);
    pages.get("/login", async ({ query }, reply) => {
      const body = loginPage(nextOf(query), offered);
      sendPage(reply, { title: "Sign in", body });
      return reply;
    });
    // No HEAD: whatever looks at a link before the person does must not use it up.
    pages.get("/login/link/:token", { exposeHeadRoute: false }, async (request, reply) => {
      reply.headers({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
      const { token } = request.params as { token: string };
      const caller = await openLink(context, token, request);
      if (!caller) {
        sendPage(reply, { title: "Link used up", body: deadLinkPage() }, 410);
        return reply;
      }
      await setSession(context, reply, caller);
      return reply.redirect("/", 303);
    });

    const signedIn = (method: "GET" | "POST", url: string, handler: PageHandler) =>
      pages.route({ method, url, handler: (request, reply) => asCaller(request, reply, handler) });

    signedIn("GET", "/", async (caller, _, reply) => {
      const [workers, jobs] = await Promise.all([
        listWorkers(context, caller, undefined, jobsShown),
        listJobs(context, caller, { limit: jobsShown }),
      ]);
      const body = overviewPage(workers, jobs);
      sendPage(reply, { title: "Overview", body, email: caller.email });
    });
    signedIn("GET", "/jobs/:id", async (caller, { params }, reply) => {
      const { id } = params as { id: string };
      const job = await getJob(context, caller, validate(id) ? id : "");
      const chunks = await readLog(context, id, 0, chunksShown + 1);
      const text = chunks.slice(0, chunksShown).map(({ log_chunk }) => log_chunk);
      const log = stripVTControlCharacters(text.join(""));
      const body = jobPage(job, log, chunks.length > chunksShown);
      sendPage(reply, { title: job.job_type, body, email: caller.email });
    });
    signedIn("GET", "/cli/login", async ({ email }, { query }, reply) => {
      const deviceCode = deviceCodeOf(query);
      const body = deviceCode
        ? approvePage(deviceCode, email)
        : deadDevicePage("The address has no valid device code");
      sendPage(reply, { title: "Sign in the client", body, email }, deviceCode ? 200 : 400);
    });
    signedIn("POST", "/cli/login", async (caller, { body }, reply) => {
      const deviceCode = deviceCodeOf(body);
      const page = { title: "Sign in the client", email: caller.email };
      try {
        if (!deviceCode) throw new Refusal("invalid_request", "The form has no valid device code");
        const login = await generateDeviceLogin(context, caller, deviceCode);
        sendPage(reply, { ...page, body: codePage(login) });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        sendPage(reply, { ...page, body: deadDevicePage(error.message) }, statusOf(error));
      }
    });
    signedIn("POST", "/logout", async (caller, _, reply) => {
      await endLogin(context, caller);
      clearSession(context, reply);
      reply.redirect("/login", 303);
    });
  });

  /** Without a session a page answers 303 to the sign-in, with the way back. */
  async function asCaller(request: FastifyRequest, reply: FastifyReply, handler: PageHandler) {
    const caller = await findSession(context, request, reply);
    if (!caller) {
      // Only an address that can be opened again is worth coming back to.
      const next = request.method === "GET" ? `?next=${encodeURIComponent(request.url)}` : "";
      return reply.redirect(`/login${next}`, 303);
    }
    refuseForeignOrigin(context, request);
    await handler(caller, request, reply);
    return reply;
  }
}

const statusOf = ({ code }: Refusal): number => problemCodes[code][0];

type PageHandler = (
  caller: UserCaller,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<void>;

function deviceCodeOf(fields: unknown): string | undefined {
  const { device_code: code } = (fields ?? {}) as { device_code?: unknown };
  return typeof code === "string" && validate(code) ? code : undefined;
}
