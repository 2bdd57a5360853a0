/** Finds a worker by its name or id. */
import type { Worker } from "../../protocol/workers.ts";
import { neverStarted, workerStatusWords } from "../../protocol/worker-words.ts";
import type { Api } from "../api/api.ts";
import { findIn } from "../teams/elsewhere.ts";
import { ago } from "../terminal/times.ts";

/** Throws `CliError` unless exactly one worker has this name or id: names may be given twice. */
export async function workerOf(api: Api, name: string): Promise<Worker> {
  return findIn(api, "worker", "workers", listWorkers, name, describe);
}

const listWorkers = async (api: Api) => (await api.call("listWorkers")).workers;

function describe(worker: Worker): string {
  const { name, hostname, last_heartbeat } = worker;
  const never = neverStarted(worker) ? undefined : "never seen";
  const seen = last_heartbeat === null ? never : `seen ${ago(last_heartbeat)}`;
  return [name, workerStatusWords(worker), hostname, seen].filter(Boolean).join(", ");
}
