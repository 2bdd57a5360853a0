/** Texts for workers, shared by the command line and the console. */
import type { Worker } from "./workers.ts";

type Known = Pick<Worker, "mode" | "status" | "last_heartbeat">;

/**
 * Whether the worker is OFFLINE and never was online: a worker that was created becomes OFFLINE if no
 * runner starts. People do not see the heartbeats of a cloud-hosted worker.
 */
export const neverStarted = ({ mode, status, last_heartbeat }: Known): boolean =>
  status === "OFFLINE" && last_heartbeat === null && mode !== "cloud-hosted";

export const workerStatusWords = (worker: Known): string =>
  neverStarted(worker) ? "NEVER STARTED" : worker.status;

/** Returns the command that starts the runner of a worker whose token is in a file. */
export const startCommand = (url: string, id: string): string =>
  `WINDLASS_URL=${url} WINDLASS_WORKER_ID=${id} \\\n  WINDLASS_WORKER_TOKEN_FILE=worker-token windlass agent`;
