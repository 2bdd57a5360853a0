/** The holder writes logs. Debug logs are raw bytes, streamed both ways. */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sendContent } from "../http/bytes.ts";
import { cutStalled } from "../http/open-responses.ts";
import type { Routes } from "../http/route.ts";
import { sendStored, sent } from "../http/sent.ts";
import type { Context } from "../services/context.ts";
import { repairLogPost } from "../services/jobs/report-repair.ts";
import { appendLogs } from "../services/logs/append.ts";
import { findDebugLogContent, uploadDebugLog } from "../services/logs/debug-logs.ts";
import type { StreamReader } from "../services/logs/feed.ts";
import {
  checkHeldJob,
  checkOwnJob,
  findPrunedAt,
  readLog,
  type LogPart,
} from "../services/logs/logs.ts";
import { logStreams } from "../services/logs/streams.ts";

export function logRoutes(app: FastifyInstance, context: Context) {
  const streams = logStreams(context);
  app.addHook("onClose", async () => streams.close());
  return {
    appendLogs: {
      quiet: true,
      repair: repairLogPost,
      handle: async ({ caller, params, headers, body, reply }) => {
        const attempt = headers["x-job-attempt"];
        const { stored, ...appended } = await appendLogs(context, caller, params.id, attempt, body);
        reply.code(stored ? 201 : 200).send(appended);
        return sent;
      },
    },
    readLogs: async ({ caller, params, query, reply }) => {
      await checkHeldJob(context, caller, params.id);
      return sendLog(context, reply, params.id, query);
    },
    getJobLogs: async ({ caller, params, query, reply }) => {
      await checkOwnJob(context, caller, params.id);
      return sendLog(context, reply, params.id, query);
    },
    streamJobLogs: async ({ caller, params, query, headers, request, reply }) => {
      await checkOwnJob(context, caller, params.id);
      // What the browser says on a reconnect is newer than what its address says.
      const after = headers["last-event-id"] ?? query.after ?? 0;
      await streams.open(caller, params.id, after, () => openEvents(request, reply));
      return sent;
    },
    uploadDebugLog: ({ caller, params, headers, body, reply }) =>
      sendStored(reply, uploadDebugLog(context, caller, params.id, headers["x-job-attempt"], body)),
    downloadDebugLog: async ({ caller, params, request, reply }) => {
      const content = await findDebugLogContent(context, caller, params.id);
      reply.headers({
        "content-disposition": `attachment; filename="job-${params.id}-debug.log.gz"`,
        "x-content-type-options": "nosniff",
      });
      return sendContent(request, reply, content, "application/gzip");
    },
  } satisfies Partial<Routes>;
}

/**
 * Begins a response of events. Plainly on the socket and not with a plugin: one buffer is written
 * to all readers, and its queue is the measure of how far a reader is behind.
 */
function openEvents(request: FastifyRequest, reply: FastifyReply): StreamReader {
  reply.hijack();
  const { raw } = reply;
  request.server.endWithCaller(request, reply);
  cutStalled(raw, request.server.patience);
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
  query: { after?: number; limit?: number },
): Promise<typeof sent> {
  const log_pruned_at = await findPrunedAt(context, job);
  // Some chunks may still exist, but a log is not shown without its beginning.
  if (log_pruned_at !== null) reply.send({ logs: [], next_after: null, log_pruned_at });
  else {
    // The first page is read before the status line, so that a refusal is still an error.
    const first = await readLog(context, job, query.after ?? 0, pageOf(query.limit));
    const text = Readable.from(textOf(context, job, query.limit, first), readAhead);
    reply.type("application/json; charset=utf-8").send(text);
  }
  return sent;
}

/** Nothing is read before the reader has taken what was read before. */
const readAhead = { highWaterMark: 0 };

const pageOf = (limit: number | undefined) => (limit === undefined ? {} : { chunks: limit });

/** One piece is in memory, however large the page is. */
async function* textOf(
  context: Context,
  job: string,
  limit: number | undefined,
  first: LogPart,
): AsyncGenerator<string> {
  let part = first;
  let count = 0;
  let last: number | null = null;
  yield '{"logs":[';
  for (;;) {
    if (part.logs.length > 0)
      yield (count > 0 ? "," : "") + part.logs.map((chunk) => JSON.stringify(chunk)).join(",");
    count += part.logs.length;
    last = part.logs.at(-1)?.id ?? last;
    if (part.isLast || last === null || count === limit) break;
    part = await readLog(context, job, last, pageOf(limit && limit - count));
  }
  // A long log may be pruned while it is sent.
  const log_pruned_at = await findPrunedAt(context, job);
  const next_after = part.isLast || limit === undefined ? null : last;
  yield `],${JSON.stringify({ next_after, ...(log_pruned_at === null ? {} : { log_pruned_at }) }).slice(1)}`;
}
