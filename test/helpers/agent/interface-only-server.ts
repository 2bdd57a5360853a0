/**
 * A control plane that implements only the published endpoints: no `attempt`, `wait`, `seq`,
 * `chunks`, problem documents or managed state, and arbitrary responses where the interface shows
 * none. The agent must work with it. The test acts as the user and queues the jobs.
 */
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../network/listen.ts";
import { buffer } from "node:stream/consumers";
import { until } from "./agent-process.ts";
import { testEngine } from "./engines.ts";

export interface PlainJob {
  readonly id: string;
  readonly job_type: string;
  readonly config_snapshot: unknown;
  readonly spec_id: string;
  readonly zone_id: string;
  /** The job whose artifact a GET returns: this job, or its PLAN. */
  readonly artifactOf: string;
  readonly cloud_identity: unknown;
  readonly more: object;
  status: string;
  claims: number;
  /** Every status report, in order. */
  readonly reports: Record<string, unknown>[];
  readonly logs: { log_chunk: string; stream_type: string }[];
  artifact: Buffer | undefined;
}

export interface InterfaceOnlyServer extends AsyncDisposable {
  readonly url: string;
  readonly workerId: string;
  readonly workerToken: string;
  /** The settings of an agent with this server and worker. */
  readonly settings: Readonly<
    Record<"WINDLASS_URL" | "WINDLASS_WORKER_ID" | "WINDLASS_WORKER_TOKEN", string>
  >;
  readonly heartbeats: Record<string, unknown>[];
  enqueue(job: {
    job_type: string;
    config_snapshot: unknown;
    spec_id?: string;
    plan?: PlainJob;
    cloud_identity?: unknown;
    /** More fields of the claim's job, as a later server sends them. */
    more?: object;
  }): PlainJob;
  /** Returns what was posted to this stream, joined. */
  log(job: PlainJob, stream: string): string;
  /** Responds to every request with this status until it is called without one. */
  fail(status?: number): void;
  /** Answers requests for tokens of a job, which the published interface does not have. */
  giveToken: ((job: PlainJob, request: Record<string, unknown>) => Reply) | undefined;
}

/** Starts a server on a free port with one registered worker. */
export async function startInterfaceOnlyServer(
  workerToken: string = randomUUID(),
): Promise<InterfaceOnlyServer> {
  const workerId = randomUUID();
  const tokenHash = createHash("sha256").update(workerToken).digest("hex");
  const jobs = new Map<string, PlainJob>();
  const heartbeats: Record<string, unknown>[] = [];
  let failure: number | undefined;

  const routes: [method: string, path: RegExp, handle: Handler][] = [
    ["POST", /^\/api\/jobs\/claim$/, () => claim(jobs)],
    [
      "POST",
      /^\/api\/workers\/heartbeat$/,
      (_job, body) => {
        heartbeats.push(json(body));
        return { status: 200, text: "alive" };
      },
    ],
    [
      "PUT",
      /^\/api\/jobs\/([^/]+)\/status$/,
      (job, body) => {
        const report = json(body);
        job.reports.push(report);
        job.status = String(report["status"]);
        return { status: 200, text: "" };
      },
    ],
    [
      "POST",
      /^\/api\/jobs\/([^/]+)\/logs$/,
      (job, body) => {
        const { log_chunk, stream_type } = json(body);
        if (typeof log_chunk !== "string" || typeof stream_type !== "string")
          return { status: 400 };
        job.logs.push({ log_chunk, stream_type });
        return { status: 200, text: "thanks" };
      },
    ],
    [
      "POST",
      /^\/api\/jobs\/([^/]+)\/plan-artifact$/,
      (job, body) => {
        job.artifact = body;
        return { status: 204 };
      },
    ],
    [
      "GET",
      /^\/api\/jobs\/([^/]+)\/plan-artifact$/,
      (job) => {
        const bytes = jobs.get(job.artifactOf)?.artifact;
        return bytes ? { status: 200, bytes } : { status: 404, text: "not found" };
      },
    ],
    [
      "POST",
      /^\/api\/jobs\/([^/]+)\/identity-token$/,
      (job, body) => plain.giveToken?.(job, json(body)) ?? { status: 404 },
    ],
  ];

  const server = createServer((request, response) => {
    void answer(request, response);
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { status, text, bytes } =
      failure === undefined ? route(request, body) : { status: failure };
    response.writeHead(status);
    response.end(bytes ?? text);
  }
  function route(request: IncomingMessage, body: Buffer): Reply {
    const path = new URL(request.url ?? "/", "http://x").pathname;
    const token = String(request.headers["x-worker-token"]);
    const isWorker = createHash("sha256").update(token).digest("hex") === tokenHash;
    if (path === "/api/workers/register") {
      return {
        status: 200,
        text: JSON.stringify({ worker_id: workerId, worker_token: workerToken }),
      };
    }
    if (!isWorker || request.headers["x-worker-id"] !== workerId) return { status: 401 };
    for (const [method, pattern, handle] of routes) {
      const match = pattern.exec(path);
      if (!match || method !== request.method) continue;
      const job = jobs.get(match[1] ?? "");
      if (match[1] !== undefined && !job) return { status: 404 };
      return handle(job as PlainJob, body);
    }
    return { status: 404 };
  }

  const { url, [Symbol.asyncDispose]: close } = await listen(server);
  const plain: InterfaceOnlyServer = {
    giveToken: undefined,
    url,
    workerId,
    workerToken,
    settings: {
      WINDLASS_URL: url,
      WINDLASS_WORKER_ID: workerId,
      WINDLASS_WORKER_TOKEN: workerToken,
    },
    heartbeats,
    enqueue: ({ job_type, config_snapshot, spec_id, plan, cloud_identity = null, more = {} }) => {
      const id = randomUUID();
      const job: PlainJob = {
        id,
        job_type,
        // Of the published interface: without one, it is terraform.
        config_snapshot:
          testEngine === "terraform"
            ? config_snapshot
            : { engine: testEngine, ...(config_snapshot as object) },
        spec_id: spec_id ?? plan?.spec_id ?? randomUUID(),
        zone_id: randomUUID(),
        artifactOf: plan?.id ?? id,
        cloud_identity,
        more,
        status: "QUEUED",
        claims: 0,
        reports: [],
        logs: [],
        artifact: undefined,
      };
      jobs.set(id, job);
      return job;
    },
    log: (job, stream) =>
      job.logs
        .filter(({ stream_type }) => stream_type === stream)
        .map(({ log_chunk }) => log_chunk)
        .join(""),
    fail: (status) => {
      failure = status;
    },
    [Symbol.asyncDispose]: close,
  };
  return plain;
}

/** Resolves with the job at its end. */
export const ended = (job: PlainJob): Promise<PlainJob> =>
  until(() => ["SUCCESS", "FAILED", "CANCELLED"].includes(job.status) && job);

export interface Reply {
  readonly status: number;
  readonly text?: string;
  readonly bytes?: Buffer;
}
type Handler = (job: PlainJob, body: Buffer) => Reply;

function claim(jobs: ReadonlyMap<string, PlainJob>): Reply {
  for (const job of jobs.values()) {
    if (job.status !== "QUEUED") continue;
    job.status = "PROCESSING";
    job.claims++;
    const { id, job_type, config_snapshot, spec_id, zone_id, cloud_identity, more } = job;
    const fields = { id, job_type, config_snapshot, spec_id, zone_id, ...more };
    const payload = { job: fields, cloud_identity };
    return { status: 200, text: JSON.stringify(payload) };
  }
  return { status: 204 };
}

const json = (body: Buffer): Record<string, unknown> =>
  JSON.parse(body.toString("utf8")) as Record<string, unknown>;
