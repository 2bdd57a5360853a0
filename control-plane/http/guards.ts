import type { FastifyReply, FastifyRequest } from "fastify";
import { RefusalError } from "../domain/refusal.ts";
import type { UserCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import { checkAccessToken, isAccessToken } from "../services/people/access-tokens.ts";
import { findSignedIn } from "../services/people/credentials.ts";
import { networkOf, refusalLimits, wrongSecretsLimit } from "../services/refusal-limit.ts";
import { goesOnLately } from "../services/people/provider-sessions.ts";
import { isReleaseSecret } from "../services/releases/releases.ts";
import { checkJobToken, type JobCredential } from "../services/states/job-tokens.ts";
import { workerTokens } from "../services/workers/credentials.ts";
import { findRegistrationToken } from "../services/workers/registration-tokens.ts";
import { actingForBody, actingWithNote } from "./acting.ts";
import type { Guards } from "./route.ts";
import { findSession, refuseForeignOrigin } from "./session.ts";

export function makeGuards(context: Context): Guards {
  const worker = workerGuard(context);
  const client = clientGuard(context);
  return {
    anyone: () => null,
    session: sessionGuard(context),
    client,
    worker,
    registrant: registrantGuard(context, { worker, client }),
    job: jobGuard(context),
    pipeline: pipelineGuard(context),
    forBody: (...about) => actingForBody(context, ...about),
  };
}

/** A browser that is signed in. */
function sessionGuard(context: Context): Guards["session"] {
  return async (request, reply) => {
    const caller = await callerOfSession(context, request, reply);
    if (!caller) throw new RefusalError("unauthenticated", "sign in first");
    return caller;
  };
}

/** The access token of a login or pipeline; without the header, a browser's session. */
function clientGuard(context: Context): Guards["client"] {
  const goesOn = goesOnLately(context);
  return async (request, reply) => {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      const caller = await callerOfSession(context, request, reply);
      if (caller) return actingWithNote(context, request, reply, caller);
    }
    const token = bearerOf(request);
    if (token !== undefined && isAccessToken(token))
      return actingWithNote(
        context,
        request,
        reply,
        await checkAccessToken(context, token, request),
      );
    const caller =
      token === undefined ? undefined : await findSignedIn(context, "cli", token, request);
    if (caller && (await goesOn(caller.login_id)))
      return actingWithNote(context, request, reply, caller);
    throw unauthenticated(
      authorization === undefined
        ? "send an access token in the header Authorization: Bearer TOKEN"
        : "the access token is wrong, expired or revoked",
    );
  };
}

async function callerOfSession(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<UserCaller | undefined> {
  const caller = await findSession(context, request, reply);
  if (caller) refuseForeignOrigin(context, request);
  return caller;
}

/** `X-Worker-ID` and `X-Worker-Token`, on every call of a runner. */
function workerGuard(context: Context): Guards["worker"] {
  const tokens = workerTokens(context);
  return (request) => {
    const { "x-worker-id": id, "x-worker-token": token } = request.headers;
    if (typeof id !== "string" || typeof token !== "string")
      throw new RefusalError(
        "invalid_worker_token",
        "the headers X-Worker-ID and X-Worker-Token are missing",
      );
    return tokens.check(id.toLowerCase(), token, request);
  };
}

/** Who may register a worker: a registration token, a signed-in client, or the worker itself. */
function registrantGuard(
  context: Context,
  { worker, client }: Pick<Guards, "worker" | "client">,
): Guards["registrant"] {
  const wrong = refusalLimits(wrongSecretsLimit);
  return async (request, reply) => {
    const token = request.headers["x-registration-token"];
    if (typeof token === "string") {
      const limit = wrong.of(networkOf(request.ip));
      limit.check();
      // Only looked up here; its use is counted when the worker is created.
      const token_hash = await findRegistrationToken(context, token);
      if (token_hash !== undefined) return { kind: "token", token_hash, origin: request };
      limit.count();
      throw new RefusalError(
        "unauthenticated",
        "the registration token is wrong, used up or expired; create a new one",
      );
    }
    if (request.headers["x-worker-id"] !== undefined)
      return { kind: "worker", worker: await worker(request, reply) };
    return { kind: "user", user: await client(request, reply) };
  };
}

/** HTTP Basic with a job's id and token, for the state of that job's spec. */
function jobGuard(context: Context): Guards["job"] {
  return async (request) => {
    const { spec_id: spec } = request.params as { spec_id: string };
    return checkJobToken(context, basicOf(request), spec, request.method === "GET");
  };
}

/** RELEASE_API_SECRET as a bearer token. */
function pipelineGuard(context: Context): Guards["pipeline"] {
  const wrong = refusalLimits(wrongSecretsLimit);
  return async (request) => {
    const given = bearerOf(request);
    const limit = wrong.of(networkOf(request.ip));
    // Before the secret is compared: otherwise a guess could still be confirmed.
    if (given !== undefined) limit.check();
    if (isReleaseSecret(context, given ?? "")) return { origin: request };
    if (given !== undefined) limit.count();
    throw unauthenticated("send the RELEASE_API_SECRET in the header Authorization: Bearer SECRET");
  };
}

const bearerOf = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];

const unauthenticated = (detail: string): RefusalError =>
  new RefusalError("unauthenticated", detail, {}, { "www-authenticate": "Bearer" });

function basicOf({ headers }: FastifyRequest): JobCredential | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]{1,1000}={0,2})$/i.exec(headers.authorization ?? "")?.[1];
  const bytes = Buffer.from(encoded ?? "", "base64");
  const [, job, token] = /^([^:]*):(.*)$/s.exec(bytes.toString()) ?? [];
  // The decoder ignores surplus bits, so a changed header could pass as the same credential.
  if (job === undefined || token === undefined || bytes.toString("base64") !== encoded)
    return undefined;
  return { job: job.toLowerCase(), token };
}
