/**
 * The control plane as the agent calls it: one method per endpoint. Calls that may be repeated are
 * repeated here, so that no caller has to.
 */
import type { ClaimedJob } from "../../protocol/executions.ts";
import { calledEndpoints as endpoints } from "../../protocol/endpoint-paths.ts";
import { call, send } from "../../protocol/transport.ts";
import type { Heartbeat, HeartbeatAnswer } from "../../protocol/workers.ts";
import { answerTimeout, persist, readLeniently, type Persistence } from "./calls.ts";
import { jobApi } from "./job-calls.ts";
import type { JobApi } from "../job/job-api.ts";
import { dispatcherOf, type Network } from "../machine/network.ts";

export interface ApiOptions extends Persistence {
  readonly server: string;
  readonly workerId: string;
  readonly workerToken: string;
  readonly network: Network;
}

export interface AgentApi {
  /**
   * Returns null if there is no job. With `wait`, the server may keep the request open for that
   * many seconds.
   */
  claim(wait: number, idempotencyKey: string, signal: AbortSignal): Promise<ClaimedJob | null>;
  /** The response of a server that knows only the published interface may have any shape. */
  heartbeat(body: Heartbeat, wait: number, signal: AbortSignal): Promise<Partial<HeartbeatAnswer>>;
  /**
   * Reports that this agent ends and holds no job. Not repeated: without this call the server
   * notices by itself.
   */
  leave(body: Heartbeat): Promise<void>;
  /**
   * Whether this worker runs jobs of every user. A server that does not say so has no such workers.
   */
  isCloudHosted(signal: AbortSignal): Promise<boolean>;
  forJob(jobId: string, attempt: number | undefined): JobApi;
  /** Aborts the running calls. */
  close(): Promise<void>;
}

/**
 * In milliseconds. Short, because the end of this process should not wait long for a server that is
 * away.
 */
const leaveTimeout = 5000;

/** All calls of one agent. Each is repeated for as long as a later attempt could succeed. */
export function createApi(options: ApiOptions): AgentApi {
  const { server } = options;
  const dispatcher = dispatcherOf(options.network);
  const identity = { "x-worker-id": options.workerId, "x-worker-token": options.workerToken };
  const common = { headers: identity, dispatcher, timeout: answerTimeout };

  const heartbeat: AgentApi["heartbeat"] = (body, wait, signal) =>
    persist(options, "heartbeat", signal, async () =>
      readLeniently(
        await send(
          server,
          endpoints.heartbeat,
          { query: wait > 0 ? { wait } : {}, body },
          { ...common, timeout: answerTimeout + wait * 1000, signal },
        ),
      ),
    );

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
    heartbeat,
    async leave(body) {
      await heartbeat({ ...body, leaving: true }, 0, AbortSignal.timeout(leaveTimeout));
    },
    async isCloudHosted(signal) {
      const worker: { mode?: unknown } = await persist(options, "worker", signal, async () =>
        readLeniently(
          await send(
            server,
            endpoints.readWorker,
            { params: { id: options.workerId } },
            { ...common, signal },
          ),
        ),
      );
      return worker.mode === "cloud-hosted";
    },
    forJob: (id, attempt) => {
      const headers = {
        ...identity,
        ...(attempt === undefined ? {} : { "x-job-attempt": String(attempt) }),
      };
      return jobApi({ ...options, ...common, headers }, id);
    },
    close: () => dispatcher.destroy(),
  };
}
