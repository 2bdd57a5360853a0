/** The control plane as the agent calls it: one method per endpoint. What may be repeated is repeated here, so that no caller has to. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { Agent, type Dispatcher } from "undici";
import { planArtifactLimit, type AppendedLogs, type ClaimedJob } from "../protocol/executions.ts";
import { endpoints } from "../protocol/endpoints.ts";
import { call, ProblemError, send } from "../protocol/transport.ts";
import type { Heartbeat, HeartbeatAnswer } from "../protocol/workers.ts";
import { backoff } from "./backoff.ts";
import { sortFailure, type Revocation } from "./failures.ts";
import { JobRefused, type JobApi } from "./job/job-api.ts";

export interface ApiOptions {
  readonly server: string;
  readonly workerId: string;
  readonly workerToken: string;
  readonly revocation: Revocation;
  readonly log: Logger;
}

export interface AgentApi {
  /** Null: no job. With `wait` the server may keep the request that many seconds. */
  claim(wait: number, idempotencyKey: string, signal: AbortSignal): Promise<ClaimedJob | null>;
  /** The answer of a server that knows only the interface may have any shape. */
  heartbeat(body: Heartbeat, wait: number, signal: AbortSignal): Promise<Partial<HeartbeatAnswer>>;
  forJob(jobId: string, attempt: number | undefined): JobApi;
  /** Breaks off what is under way. */
  close(): Promise<void>;
}

/** An answer that takes longer is repeated. */
const answerTimeout = 30_000;

export function createApi(options: ApiOptions): AgentApi {
  const { server } = options;
  const dispatcher = new Agent({ connect: { timeout: 10_000 } });
  const identity = { "x-worker-id": options.workerId, "x-worker-token": options.workerToken };
  const common = { headers: identity, dispatcher, timeout: answerTimeout };

  return {
    claim: (wait, key, signal) =>
      persist(options, "claim", signal, () =>
        call(
          server,
          endpoints.claimJob,
          { query: { wait } },
          {
            ...common,
            headers: { ...identity, "idempotency-key": key },
            timeout: answerTimeout + wait * 1000,
            signal,
          },
        ),
      ),
    heartbeat: (body, wait, signal) =>
      persist(options, "heartbeat", signal, async () =>
        readLeniently(
          await send(
            server,
            endpoints.heartbeat,
            { query: wait > 0 ? { wait } : {}, body },
            { ...common, timeout: answerTimeout + wait * 1000, signal },
          ),
        ),
      ),
    forJob: (id, attempt) => {
      const headers = {
        ...identity,
        ...(attempt === undefined ? {} : { "x-job-attempt": String(attempt) }),
      };
      return jobApi(options, id, { ...common, headers });
    },
    close: () => dispatcher.destroy(),
  };
}

interface Common {
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Agent;
  readonly timeout: number;
}

function jobApi(options: ApiOptions, id: string, common: Common): JobApi {
  const { server, revocation } = options;
  const params = { id };
  const forever = new AbortController().signal;
  return {
    reportStatus: async (report) => {
      const once = async (): Promise<unknown> =>
        readLeniently(await send(server, endpoints.reportStatus, { params, body: report }, common));
      await settle(persist(options, `report ${report.status}`, forever, once));
    },
    appendLogs: async (chunks, signal) => {
      // A server of the bare interface takes one chunk a post; `seq` says nothing to it.
      const [only] = chunks;
      const body = chunks.length === 1 && only ? only : { chunks };
      try {
        const answer: Partial<AppendedLogs> = await readLeniently(
          await send(server, endpoints.appendLogs, { params, body }, { ...common, signal }),
        );
        revocation.accepted();
        return { job_status: answer.job_status ?? "PROCESSING" };
      } catch (error) {
        if (sortFailure(error).kind === "unauthorized") revocation.refused();
        throw error;
      }
    },
    uploadPlan: async (file, signal) => {
      const { size } = await stat(file);
      const digest = await digestOf(file);
      const once = async (): Promise<void> => {
        const answer = await send(
          server,
          endpoints.uploadPlanArtifact,
          { params, bytes: createReadStream(file) },
          {
            ...common,
            headers: {
              ...common.headers,
              "content-length": String(size),
              "content-digest": digest,
            },
            signal,
          },
        );
        await answer.body.dump();
      };
      try {
        await settle(persist(options, "upload plan", signal, once));
      } catch (error) {
        // Only this attempt can have stored it: an upload whose answer was lost.
        if (!(error instanceof JobRefused && error.code === "artifact_exists")) throw error;
      }
    },
    downloadPlan: async (file, signal) =>
      settle(
        persist(options, "download plan", signal, () =>
          download(server, endpoints.downloadPlanArtifact, params, file, { ...common, signal }),
        ),
      ),
    downloadSource: async (file, signal) => {
      const found = await settle(
        persist(options, "download source", signal, () =>
          download(server, endpoints.downloadSource, params, file, { ...common, signal }),
        ),
      );
      if (!found) throw new JobRefused("refused", "the server has no source archive for this job");
    },
    stateAddress: (specId) => `${server}/api/state/${specId}`,
  };
}

/** Repeats a call until it is answered or refused. */
async function persist<T>(
  { log, revocation }: ApiOptions,
  what: string,
  signal: AbortSignal,
  once: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    try {
      const answer = await once();
      revocation.accepted();
      return answer;
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = sortFailure(error);
      if (failure.kind === "give up") {
        revocation.accepted();
        throw error;
      }
      if (failure.kind === "unauthorized") revocation.refused();
      const delay = backoff(tries, Math.random(), failure.kind === "retry" ? failure.after : 0);
      log.warn({ call: what, tries, error: describe(error), retry_in_ms: Math.round(delay) });
      await sleep(delay, undefined, { signal });
    }
  }
}

/** Answers that the interface does not show: an object where there is one, nothing for any other text. */
async function readLeniently(answer: Dispatcher.ResponseData): Promise<object> {
  const text = await answer.body.text();
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Puts a refusal into the words of the job's own interface. */
async function settle<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const reasons: Record<string, JobRefused["reason"]> = {
      not_job_holder: "lost",
      job_ended: "ended",
    };
    const reason = reasons[error.code ?? ""] ?? "refused";
    throw new JobRefused(reason, describe(error), error.code);
  }
}

/** Into a file, whole and with the right digest, or an error that is worth a retry; false when there is nothing. */
async function download(
  server: string,
  endpoint: typeof endpoints.downloadPlanArtifact | typeof endpoints.downloadSource,
  params: { id: string },
  file: string,
  options: Common & { signal: AbortSignal },
): Promise<boolean> {
  try {
    const answer = await send(server, endpoint, { params }, options);
    if (answer.statusCode === 204) {
      await answer.body.dump();
      return false;
    }
    await pipeline(answer.body, limited(planArtifactLimit), createWriteStream(file));
    const expected = answer.headers["content-digest"];
    if (typeof expected === "string" && expected.startsWith("sha-256=:")) {
      if ((await digestOf(file)) !== expected)
        throw new Error("the content was damaged on its way");
    }
    return true;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) return false;
    throw error;
  }
}

/** Nothing that the control plane hands out is larger than a plan artifact. */
function limited(bytes: number): Transform {
  let seen = 0;
  return new Transform({
    transform(part: Buffer, _encoding, done) {
      seen += part.length;
      if (seen > bytes) done(new JobRefused("refused", `over ${bytes} bytes were sent`));
      else done(null, part);
    },
  });
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return `sha-256=:${hash.digest("base64")}:`;
}

const describe = (error: unknown): string =>
  error instanceof ProblemError
    ? `${error.status} ${error.code ?? ""} ${error.message}`
    : ((error as Error).message ?? String(error)) || String((error as { code?: string }).code);
