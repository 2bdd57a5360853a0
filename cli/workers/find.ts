/** Finds a worker by its name or id. */
import type { Worker } from "../../protocol/workers.ts";
import type { Api } from "../api/api.ts";
import { find } from "../api/find.ts";
import { ago } from "../terminal/times.ts";

/** Throws `CliError` unless exactly one worker has this name or id: names may be given twice. */
export async function workerOf(api: Api, name: string): Promise<Worker> {
  const { workers } = await api.call("listWorkers");
  return find(api, "worker", "workers", workers, name, describe);
}

function describe({ name, status, hostname, last_heartbeat }: Worker): string {
  const seen = last_heartbeat === null ? "never seen" : `seen ${ago(last_heartbeat)}`;
  return [name, status, hostname, seen].filter(Boolean).join(", ");
}
