/** The control plane as the agent calls it: one method per endpoint, which repeats what it may. */
import type { ClaimedJob } from "../../protocol/executions.ts";
import { call, send } from "../../protocol/transport.ts";
import type { Heartbeat, HeartbeatAnswer } from "../../protocol/workers.ts";
import {
  responseLimit,
  responseTimeout,
  retryCall,
  readLeniently,
  type RetryContext,
} from "./calls.ts";
import { expectGenuine, genuine, names } from "./genuine.ts";
import type { KnownServer } from "./known-server.ts";
import { provingConnectorFor } from "./proof.ts";
import { jobApi } from "./job-calls.ts";
import type { JobApi } from "../job/job-api.ts";
import { dispatcherOf } from "../../common/http-proxies.ts";
import type { Network } from "../../common/network.ts";

export interface ApiOptions extends RetryContext {
  readonly server: string;
  readonly known: KnownServer;
  readonly workerId: string;
  readonly workerToken: string;
  readonly network: Network;
}

export interface AgentApi {
  /** Returns null if there is no job within `wait` seconds. */
  claim(wait: number, idempotencyKey: string, signal: AbortSignal): Promise<ClaimedJob | null>;
  /** The response of a server that knows only the published interface may have any shape. */
  heartbeat(body: Heartbeat, wait: number, signal: AbortSignal): Promise<Partial<HeartbeatAnswer>>;
  /** Reports that this agent ends and holds no job. Not repeated: the server notices anyway. */
  leave(body: Heartbeat): Promise<void>;
  /** Whether this worker runs jobs of every user; false if the server does not say so. */
  isCloudHosted(signal: AbortSignal): Promise<boolean>;
  forJob(jobId: string, attempt: number | undefined): JobApi;
  /** Aborts the running calls. */
  close(): Promise<void>;
}

/** Milliseconds. Short, because the end of this process should not wait for a server. */
const leaveTimeout = 5000;

/** Each call is repeated for as long as a later attempt could succeed. */
export function createApi(options: ApiOptions): AgentApi {
  const { server, known, workerId } = options;
  const isPlain = server.startsWith("http:");
  const dispatcher = dispatcherOf(options.network, provingConnectorFor(server, options, known));
  const identity = { "x-worker-id": options.workerId, "x-worker-token": options.workerToken };
  const common = {
    headers: identity,
    dispatcher,
    timeout: responseTimeout,
    limit: responseLimit,
  };

  const heartbeat: AgentApi["heartbeat"] = (body, wait, signal) =>
    retryCall(options, "heartbeat", signal, async () => {
      const wants_proof_key = isPlain && known.provesItself && known.proofKey === undefined;
      const input = {
        query: wait > 0 ? { wait } : {},
        body: wants_proof_key ? { ...body, wants_proof_key } : body,
      };
      const patience = { timeout: responseTimeout + wait * 1000, signal };
      const answer: Partial<HeartbeatAnswer> = await readLeniently(
        await genuine(known, send(server, "heartbeat", input, { ...common, ...patience })),
      );
      const isGenuine = typeof answer.server_time === "string" && names(answer.worker_id, workerId);
      expectGenuine(known, isGenuine);
      if (isGenuine) known.learn({ reportsTime: true });
      if (isGenuine && typeof answer.proof_key === "string")
        known.learn({ proofKey: answer.proof_key });
      return answer;
    });

  return {
    claim: (wait, key, signal) =>
      retryCall(options, "claim", signal, async () => {
        const headers = { ...identity, "idempotency-key": key };
        const patience = { timeout: responseTimeout + wait * 1000, signal };
        const claim = await genuine(
          known,
          call(server, "claimJob", { query: { wait } }, { ...common, ...patience, headers }),
        );
        expectGenuine(known, claim === null || typeof claim.job?.id === "string");
        return claim;
      }),
    heartbeat,
    async leave(body) {
      await heartbeat({ ...body, leaving: true }, 0, AbortSignal.timeout(leaveTimeout));
    },
    async isCloudHosted(signal) {
      const input = { params: { id: workerId } };
      return retryCall(options, "worker", signal, async () => {
        const worker: { id?: unknown; mode?: unknown } = await readLeniently(
          await genuine(known, send(server, "readWorker", input, { ...common, signal })),
        );
        expectGenuine(known, names(worker.id, workerId));
        return worker.mode === "cloud-hosted";
      });
    },
    forJob: (id, attempt) => {
      const headers = {
        ...identity,
        ...(typeof attempt === "number" ? { "x-job-attempt": String(attempt) } : {}),
      };
      return jobApi({ ...options, ...common, headers }, id);
    },
    close: () => dispatcher.destroy(),
  };
}
