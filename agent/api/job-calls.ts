/** Implements what a job needs of the control plane, over HTTP. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, readFileSync, statSync } from "node:fs";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Dispatcher } from "../../common/http-client.ts";
import type { AppendedLogs } from "../../protocol/executions.ts";
import { planArtifactLimit } from "../../protocol/limits.ts";
import { ProblemError, send, textWithin } from "../../protocol/transport.ts";
import { retryCall, readLeniently, type RetryContext } from "./calls.ts";
import { describe } from "./describe.ts";
import { sortFailure } from "./failures.ts";
import { expectGenuine, genuine, names, proxyPatience } from "./genuine.ts";
import type { KnownServer } from "./known-server.ts";
import type { JobApi } from "../job/job-api.ts";
import { plainAddress } from "../machine/network.ts";
import { JobRefusedError } from "../job/job-refused-error.ts";
import { kibibyte, mebibyte, minute, second } from "../../common/units.ts";

export interface JobCalls extends RetryContext {
  readonly server: string;
  readonly known: Pick<KnownServer, "reportsTime">;
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
  readonly timeout: number;
}

/** When to give up an upload while other calls succeed: a proxy may refuse its size. */
interface Patience {
  readonly tries: number;
  /** The longest time of one attempt. */
  readonly milliseconds: number;
}

/** Enough for a debug log of the largest size at 1 Mbit/s. */
const debugLogPatience: Patience = { tries: 5, milliseconds: 15 * minute };

/** The calls of one job; `headers` name the worker and the attempt. */
export function jobApi(calls: JobCalls, id: string): JobApi {
  const { server, known, revocation } = calls;
  const params = { id };
  const forever = new AbortController().signal;
  const upload = async (
    what: string,
    endpoint: "uploadPlanArtifact" | "uploadDebugLog",
    file: string,
    signal: AbortSignal,
    patience?: Patience,
  ): Promise<void> => {
    const { size } = statSync(file);
    const digest = await digestOf(file);
    const proxy = proxyPatience(calls);
    const once = async (): Promise<void> => {
      const bytes = size <= smallFile ? readFileSync(file) : createReadStream(file);
      const headers = {
        ...calls.headers,
        "content-length": String(size),
        "content-digest": digest,
      };
      const options = {
        ...calls,
        headers,
        signal: patience ? AbortSignal.timeout(patience.milliseconds) : signal,
      };
      try {
        const answer: { job_id?: unknown } = await readLeniently(
          await genuine(known, send(server, endpoint, { params, bytes }, options)),
        );
        expectGenuine(known, names(answer.job_id, id));
      } catch (error) {
        throw proxy.failed(error);
      }
    };
    try {
      await retryJobCall(what, signal, once, patience?.tries);
    } catch (error) {
      // Only this attempt can have stored it: the response to an earlier upload was lost.
      if (!(error instanceof JobRefusedError && error.code === "artifact_exists")) throw error;
    }
  };
  const retryJobCall = <T>(
    what: string,
    signal: AbortSignal,
    once: () => Promise<T>,
    tries?: number,
  ): Promise<T> => asJobRefusal(retryCall(calls, what, signal, once, tries));
  const logProxy = proxyPatience(calls);
  /** Returns undefined if there is no state; throws an error that is worth a retry. */
  const openState = async (spec_id: string, jobToken: string, signal: AbortSignal) => {
    const authorization = `Basic ${Buffer.from(`${id}:${jobToken}`).toString("base64")}`;
    const options = { dispatcher: calls.dispatcher, headers: { authorization }, signal };
    const sent = send(server, "readState", { params: { spec_id } }, options);
    try {
      return await contentOf(known, await genuine(known, sent), "content-md5");
    } catch (error) {
      // A server without managed states has none of this configuration either.
      if (error instanceof ProblemError && sortFailure(error).kind !== "retry") return undefined;
      throw error;
    }
  };
  return {
    reportStatus: async (report) => {
      const input = { params, body: report };
      const once = async (): Promise<void> => {
        const answer: { id?: unknown } = await readLeniently(
          await genuine(known, send(server, "reportStatus", input, calls)),
        );
        expectGenuine(known, names(answer.id, id));
      };
      await retryJobCall(`report ${report.status}`, forever, once);
    },
    appendLogs: async (chunks, signal) => {
      // A server that knows only the published interface takes one chunk a post and ignores `seq`.
      const [only] = chunks;
      const body = chunks.length === 1 && only ? only : { chunks };
      try {
        const options = { ...calls, signal };
        const answer: Partial<AppendedLogs> = await readLeniently(
          await genuine(known, send(server, "appendLogs", { params, body }, options)),
        );
        // A control plane of an earlier release names the chunk and the status, but not the job.
        const { job_id = id, id: chunk, job_status } = answer;
        const isGenuine = names(job_id, id) && chunk !== undefined && job_status !== undefined;
        expectGenuine(known, isGenuine);
        revocation.accepted();
        logProxy.succeeded();
        return { job_status: answer.job_status ?? "PROCESSING" };
      } catch (error) {
        if (sortFailure(error).kind === "unauthorized") revocation.refused();
        if (revocation.isRevoked) throw new JobRefusedError("refused", describe(error));
        throw logProxy.failed(error);
      }
    },
    uploadPlan: (file, signal) => upload("upload plan", "uploadPlanArtifact", file, signal),
    // The report of the job's end waits for it, and neither a cancel nor the job's timeout ends it.
    uploadDebugLog: (file) =>
      upload("upload debug log", "uploadDebugLog", file, forever, debugLogPatience),
    downloadPlan: async (file, signal) =>
      retryJobCall("download plan", signal, () =>
        download(server, "downloadPlanArtifact", params, file, { ...calls, signal }),
      ),
    downloadSource: async (file, signal) => {
      const found = await retryJobCall("download source", signal, () =>
        download(server, "downloadSource", params, file, { ...calls, signal }),
      );
      if (!found)
        throw new JobRefusedError("refused", "the server has no source archive for this job");
    },
    identityToken: async (body, signal) => {
      const once = async () => {
        const answer = await genuine(
          known,
          send(server, "createIdentityToken", { params, body }, { ...calls, signal }),
        );
        const { token, expires_at }: { token?: unknown; expires_at?: unknown } =
          await readLeniently(answer);
        const isGenuine = typeof token === "string" && typeof expires_at === "string";
        expectGenuine(known, isGenuine);
        if (!isGenuine) throw new JobRefusedError("refused", "the response has no token");
        return { token, life: lifeUntil(expires_at, answer.headers.date) };
      };
      const asPassing = (error: unknown): never => {
        if (signal.aborted || sortFailure(error).kind === "give up") throw error;
        throw new Error(describe(error), { cause: error });
      };
      return asJobRefusal(once().catch(asPassing));
    },
    stateAddress: (specId) => `${plainAddress(server)}/api/state/${specId}`,
    hasState: (specId, jobToken, signal) =>
      retryCall(calls, "look for a state", signal, async () => {
        const body = await openState(specId, jobToken, signal);
        return body !== undefined && (await isState(body));
      }),
    readState: async (specId, jobToken, limit) => {
      const signal = AbortSignal.timeout(calls.timeout);
      const once = async (): Promise<string | undefined> => {
        const body = await openState(specId, jobToken, signal);
        return body && (await textWithin(body, limit));
      };
      // The callers have another way to read the state, or go on without it.
      return retryCall(calls, "read the state", signal, once).catch(() => undefined);
    },
  };
}

/** Terraform writes less than this for a state that has neither a resource nor an output. */
const emptyStateLimit = 16 * kibibyte;

async function isState(body: Dispatcher.ResponseData["body"]): Promise<boolean> {
  const text = await textWithin(body, emptyStateLimit);
  if (text === undefined) return true;
  if (text === "") return false;
  const { resources } = JSON.parse(text) as { resources?: unknown[] };
  return resources === undefined || resources.length > 0;
}

/**
 * By the server's clock, of which its header has whole seconds: at most a second too short. Without
 * the header, as long as a token is of use at all.
 */
function lifeUntil(end: string, now: string | string[] | undefined): number {
  const at = Date.parse(String(now));
  return Number.isNaN(at) ? minute : Date.parse(end) - at - second;
}

/** Turns a refusal into the error that the job's own interface declares. */
async function asJobRefusal<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const reasons: Record<string, JobRefusedError["reason"]> = {
      not_job_holder: "lost",
      job_ended: "ended",
    };
    const reason = reasons[error.code ?? ""] ?? "refused";
    throw new JobRefusedError(reason, describe(error), error.code);
  }
}

/** Writes the whole file. Returns false if there is none; a wrong digest is worth a retry. */
async function download(
  server: string,
  endpoint: "downloadPlanArtifact" | "downloadSource",
  params: { id: string },
  file: string,
  options: JobCalls & { signal: AbortSignal },
): Promise<boolean> {
  try {
    const answer = await genuine(options.known, send(server, endpoint, { params }, options));
    const body = await contentOf(options.known, answer, "content-digest");
    if (body === undefined) return false;
    await pipeline(body, limited(planArtifactLimit), createWriteStream(file));
    const expected = answer.headers["content-digest"];
    if (typeof expected === "string" && expected.startsWith("sha-256=:")) {
      if ((await digestOf(file)) !== expected)
        throw new Error("the content was damaged in transit: its digest differs");
    }
    return true;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) return false;
    throw error;
  }
}

/** Returns the body, which the control plane sends with its digest; undefined if there is none. */
async function contentOf(
  known: Pick<KnownServer, "reportsTime">,
  { statusCode, headers, body }: Dispatcher.ResponseData,
  digest: "content-digest" | "content-md5",
): Promise<Dispatcher.ResponseData["body"] | undefined> {
  const isNone = statusCode === 204;
  if (!isNone && (headers[digest] !== undefined || !known.reportsTime)) return body;
  await body.dump();
  expectGenuine(known, isNone);
  return undefined;
}

/** The control plane sends nothing larger than a plan artifact. */
function limited(bytes: number): Transform {
  let seen = 0;
  return new Transform({
    transform(part: Buffer, _encoding, done) {
      seen += part.length;
      if (seen > bytes) done(new JobRefusedError("refused", `over ${bytes} bytes were sent`));
      else done(null, part);
    },
  });
}

/** Small files are read at once: a stream takes longer to set up than they take to send. */
const smallFile = mebibyte;

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  if (statSync(file).size <= smallFile) hash.update(readFileSync(file));
  else await pipeline(createReadStream(file), hash);
  return `sha-256=:${hash.digest("base64")}:`;
}
