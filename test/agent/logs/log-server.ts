/**
 * A log server (docs/decisions.md, "Log positions"): it stores each number once and in order, and
 * reports a gap. Tests can inject faults.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { SequencedChunk } from "../../../protocol/executions.ts";
import { call } from "../../../protocol/transport.ts";
import type { LogSink } from "../../../agent/logs/delivery.ts";
import { listen } from "../../helpers/network/listen.ts";

export interface Received extends SequencedChunk {
  readonly at: number;
}

/** Runs before the server's own handling. Returns true if it has handled the request. */
type Fault = (post: number, response: ServerResponse) => boolean | Promise<boolean>;

export interface LogServer {
  readonly url: string;
  /** Stored chunks, in the order of their numbers. */
  chunks: Received[];
  /** The received bodies: one array of chunks per post. */
  readonly posts: SequencedChunk[][];
  /** The highest number of posts that were open at the same time. */
  mostOpen: number;
  fault: Fault;
  jobStatus: string;
  /** How long a post ahead of its turn waits for its predecessor, in milliseconds. */
  gapWait: number;
  text(...streams: string[]): string;
  close(): Promise<void>;
}

export async function startLogServer(): Promise<LogServer> {
  let open = 0;
  const http = createServer((request, response) => {
    open++;
    log.mostOpen = Math.max(log.mostOpen, open);
    response.once("close", () => open--);
    // A client that was killed during its request does not fail the test.
    handle(log, request, response).catch(() => response.destroy());
  });
  const listening = await listen(http);
  const log: LogServer = {
    url: listening.url,
    chunks: [],
    posts: [],
    mostOpen: 0,
    fault: () => false,
    jobStatus: "PROCESSING",
    gapWait: 1000,
    text: (...streams) =>
      log.chunks
        .filter(({ stream_type }) => streams.length === 0 || streams.includes(stream_type))
        .map(({ log_chunk }) => log_chunk)
        .join(""),
    close: () => Promise.resolve(listening[Symbol.asyncDispose]()),
  };
  return log;
}

/** A sink that posts to a server as the agent does. */
export const sinkTo = (server: string): LogSink => ({
  async appendLogs(chunks, signal) {
    const params = { id: "019a0000-0000-7000-8000-000000000000" };
    const [only] = chunks;
    const body = chunks.length === 1 && only ? only : { chunks };
    const acknowledged = await call(server, "appendLogs", { params, body }, { signal });
    return { job_status: acknowledged?.job_status ?? "PROCESSING" };
  },
});

async function handle(log: LogServer, request: IncomingMessage, response: ServerResponse) {
  const body = JSON.parse(await textOf(request)) as { chunks?: SequencedChunk[] } & SequencedChunk;
  const chunks = body.chunks ?? [body];
  const number = log.posts.push(chunks);
  if (await log.fault(number, response)) return;
  const first = chunks[0]?.seq ?? 0;
  const deadline = Date.now() + log.gapWait;
  while (first > log.chunks.length + 1 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  if (first > log.chunks.length + 1) {
    return problem(response, 409, { code: "log_gap", expected_seq: log.chunks.length + 1 });
  }
  for (const chunk of chunks) {
    if (chunk.seq === log.chunks.length + 1) log.chunks.push({ ...chunk, at: performance.now() });
  }
  reply(response, 201, { id: log.chunks.length, job_status: log.jobStatus });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

export function problem(response: ServerResponse, status: number, more: object = {}): void {
  reply(response, status, { status, title: "no", ...more });
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
