/** The frequent requests of an owner and a worker, and the time of each. */
import { Pool } from "undici";
import { token } from "./fill.ts";
import type { History } from "./history.ts";
import { median } from "./table.ts";

export interface TimedRequest {
  readonly what: string;
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly as?: "client" | "browser" | "worker";
  readonly body?: object;
  readonly headers?: () => Record<string, string>;
}

export interface Target extends History {
  readonly url: string;
  readonly client: Record<string, string>;
  readonly browser: Record<string, string>;
}

let keys = 0;

const list = (what: string, query = "") => ({
  what: `list ${what}${query === "" ? "" : ` ${query}`}`,
  path: `/api/${what === "jobs" ? "" : "cli/"}${what}?limit=50${query === "" ? "" : `&${query}`}`,
});
const page = (path: string, what = path) => ({
  what: `page ${what}`,
  path,
  as: "browser" as const,
});

export function everyRequest(history: History): TimedRequest[] {
  const { zone, emptyZone, configuration, variableSet, waitingJob, finishedJob, worker } = history;
  return [
    {
      what: "heartbeat",
      method: "POST",
      path: "/api/workers/heartbeat",
      as: "worker",
      body: { version: "1.0.0", active_job_ids: [] },
    },
    {
      what: "claim with a key",
      method: "POST",
      path: "/api/jobs/claim",
      as: "worker",
      body: {},
      headers: () => ({ "idempotency-key": `key-${(keys += 1)}` }),
    },
    {
      what: "create a job",
      method: "POST",
      path: "/api/jobs",
      body: { job_type: "PLAN", configuration_id: configuration },
    },
    { what: "read a queued job", path: `/api/cli/jobs/${waitingJob}` },
    { what: "read a finished job", path: `/api/cli/jobs/${finishedJob}` },
    list("jobs"),
    ...["QUEUED", "PROCESSING", "SUCCESS", "FAILED", "CANCELLED"].map((status) =>
      list("jobs", `status=${status}`),
    ),
    { ...list("jobs", `zone_id=${zone}`), what: "list jobs of a zone" },
    { ...list("jobs", `zone_id=${emptyZone}`), what: "list jobs of an empty zone" },
    {
      ...list("jobs", `zone_id=${zone}&status=CANCELLED`),
      what: "list jobs of a zone status=CANCELLED",
    },
    list("zones"),
    list("configurations"),
    list("workers"),
    list("logins"),
    list("cloud-identities"),
    list("variable-sets"),
    list("audit"),
    list("audit", "action=job.create"),
    list("audit", "action=zone.create"),
    { ...list("audit", `target_id=${finishedJob}`), what: "list audit target_id=…" },
    list("audit", "until=2001-01-01T00:00:00Z"),
    {
      ...list(`configurations/${configuration}/state/versions`),
      what: "list state versions",
    },
    page("/"),
    page("/jobs"),
    page("/jobs?status=FAILED"),
    page("/jobs?status=QUEUED"),
    page("/jobs?job_type=PLAN"),
    page("/jobs?by=bench@example.com"),
    { ...page(`/jobs?configuration=${configuration}`), what: "page /jobs?configuration=…" },
    page("/jobs?job_type=PLAN&status=FAILED"),
    page("/jobs?until=2001-01-01"),
    page("/jobs?name=configuration-7"),
    page("/search?q=configuration-7"),
    page(`/zones/${zone}`, "a zone of 100 configurations"),
    page("/zones"),
    page("/workers"),
    page("/identities"),
    page("/variable-sets"),
    page(`/variable-sets/${variableSet}`, "a variable set of 100 configurations"),
    page("/audit"),
    page("/settings"),
    page(`/zones/${emptyZone}`, "an empty zone"),
    page(`/configurations/${configuration}`, "configuration"),
    page(`/jobs/${finishedJob}`, "finished job"),
    page(`/jobs/${waitingJob}`, "queued job"),
    page(`/workers/${worker}`, "worker"),
    { what: "metrics", path: "/metrics" },
  ];
}

/** Sends a request several times, one after another. Returns the median time in milliseconds. */
export async function timeOf(target: Target, request: TimedRequest, times = 7): Promise<number> {
  const pool = new Pool(target.url, { connections: 1 });
  const took: number[] = [];
  for (let round = 0; round < times; round += 1) took.push(await once(pool, target, request));
  await pool.close();
  return median(took);
}

async function once(pool: Pool, target: Target, request: TimedRequest): Promise<number> {
  const { method = "GET", path, as = "client", body, headers = () => ({}) } = request;
  const credential = {
    client: target.client,
    browser: target.browser,
    worker: { "x-worker-id": target.worker, "x-worker-token": token },
  }[as];
  const json = body === undefined ? {} : { "content-type": "application/json" };
  const start = performance.now();
  const response = await pool.request({
    method,
    path,
    headers: { ...credential, ...json, ...headers() },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.body.text();
  const took = performance.now() - start;
  if (response.statusCode >= 300)
    throw new Error(`${request.what} (${path}) returned ${response.statusCode} ${text}`);
  return took;
}
