/** Texts for workers, shared by the command line and the console. */
import type { Worker } from "./workers.ts";

type Known = Pick<Worker, "mode" | "status" | "last_heartbeat">;

/**
 * A created worker becomes OFFLINE if no runner starts. People see no heartbeats of cloud-hosted
 * ones.
 */
export const neverStarted = ({ mode, status, last_heartbeat }: Known): boolean =>
  status === "OFFLINE" && last_heartbeat === null && mode !== "cloud-hosted";

export const workerStatusWords = (worker: Known): string =>
  neverStarted(worker) ? "NEVER STARTED" : worker.status;

/** Returns the command that starts the runner of a worker whose token is in a file. */
export const startCommand = (url: string, id: string): string =>
  `WINDLASS_URL=${url} WINDLASS_WORKER_ID=${id} \\\n  WINDLASS_WORKER_TOKEN_FILE=worker-token windlass agent`;
