/** Reading logs, for the runner that holds the job and for the person whose job it is: the same answer. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { LogChunk } from "../../protocol/jobs.ts";
import type { Context } from "../services/context.ts";
import { logStreams, type StreamReader } from "../services/log-streams.ts";
import { checkHeldJob, checkOwnJob, findPrunedAt, readLog } from "../services/logs.ts";
import { sendStream } from "./list.ts";
import { route, sent, type Guards } from "./route.ts";

/** Chunks read at a time: of the usual 16–32 KB, this is a few hundred kilobytes. */
const pageSize = 16;

/** Adds the routes of this file. */
export function logRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.readLogs, guards, async ({ caller, params, query, reply }) => {
    await checkHeldJob(context, caller, params.id);
    return sendLog(context, reply, params.id, query);
  });
  route(app, endpoints.getJobLogs, guards, async ({ caller, params, query, reply }) => {
    await checkOwnJob(context, caller, params.id);
    return sendLog(context, reply, params.id, query);
  });
  const streams = logStreams(context);
  app.addHook("onClose", async () => streams.close());
  route(app, endpoints.streamJobLogs, guards, async (call) => {
    const { caller, params, query, headers, reply } = call;
    await checkOwnJob(context, caller, params.id);
    // What the browser says on a reconnect is newer than what its address says.
    const after = headers["last-event-id"] ?? query.after ?? 0;
    await streams.open(caller, params.id, after, () => openEvents(reply));
    return sent;
  });
}

/**
 * Begins a response of events. Plainly on the socket and not with a plugin: one buffer is written to all readers as it is, and its queue
 * is the measure of how far a reader is behind.
 */
function openEvents(reply: FastifyReply): StreamReader {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    // Proxies that collect answers would hold the events back.
    "x-accel-buffering": "no",
    connection: "close",
  });
  raw.flushHeaders();
  return raw;
}

async function sendLog(
  context: Context,
  reply: FastifyReply,
  job: string,
  { after = 0, limit }: { after?: number; limit?: number },
): Promise<typeof sent> {
  const log_pruned_at = await findPrunedAt(context, job);
  // Some of it may still be there: a log without its beginning would be a lie.
  if (log_pruned_at !== null) {
    reply.send({ logs: [], next_after: null, log_pruned_at });
    return sent;
  }
  if (limit === undefined)
    return sendStream<LogChunk>(
      reply,
      "logs",
      "next_after",
      (last) => readLog(context, job, last?.id ?? after, pageSize),
      pageSize,
      // A long log may be pruned while it is sent.
      async () => {
        const at = await findPrunedAt(context, job);
        return at === null ? {} : { log_pruned_at: at };
      },
    );
  const found = await readLog(context, job, after, limit + 1);
  const logs = found.slice(0, limit);
  const next_after = found.length > limit ? (logs.at(-1)?.id ?? null) : null;
  reply.send({ logs, next_after });
  return sent;
}
