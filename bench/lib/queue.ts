/** Windlass as a queue: what another queue can do too. */
import { setTimeout as pause } from "node:timers/promises";
import { Agent } from "undici";
import { addWorkers, fill, token, type Filled } from "./fill.ts";
import { startPrototype, startWindlass } from "./processes.ts";
import { signIn } from "./sign-in.ts";

export interface Queue {
  /** Claims and completes jobs, `lanes` at a time. Returns the milliseconds. */
  drain(jobs: number, lanes: number): Promise<number>;
  /** Queues one job after another while runners wait. Returns the milliseconds until one has it. */
  wake(jobs: number, parked: number): Promise<number[]>;
}

export interface StartedQueue extends Queue {
  close(): Promise<void>;
}

export interface QueueSize {
  readonly jobs: number;
  /** Runners that may wait. */
  readonly parked: number;
}

const waitSeconds = 30;
const warmUpJobs = 1000;
const workerOf = (id: string) => ({ "x-worker-id": id, "x-worker-token": token });
const idOf = (text: string) => (JSON.parse(text) as { job: { id: string } }).job.id;

/** What a runner calls at a server. */
function callsOf(origin: string) {
  async function ask(
    dispatcher: Agent,
    path: string,
    credential: Record<string, string>,
    { method = "POST", body }: { method?: "POST" | "PUT"; body?: object } = {},
  ): Promise<string> {
    const response = await dispatcher.request({
      origin,
      method,
      path,
      headers: { ...credential, ...(body ? { "content-type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await response.body.text();
    if (response.statusCode >= 300)
      throw new Error(`${path} returned ${response.statusCode}: ${text}`);
    return text;
  }
  const complete = (dispatcher: Agent, worker: string, job: string) =>
    ask(dispatcher, `/api/jobs/${job}/status`, workerOf(worker), {
      method: "PUT",
      body: { status: "SUCCESS" },
    });

  async function drain(worker: string, jobs: number, lanes: number): Promise<number> {
    const dispatcher = new Agent({ connections: lanes });
    let left = jobs;
    const begun = performance.now();
    const lane = async () => {
      while ((left -= 1) >= 0) {
        const claimed = await ask(dispatcher, "/api/jobs/claim", workerOf(worker));
        await complete(dispatcher, worker, idOf(claimed));
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    const took = performance.now() - begun;
    await dispatcher.close();
    return took;
  }

  /** Has the runners wait. `start` returns what queues a job and returns its id. */
  async function wake(
    runners: readonly string[],
    jobs: number,
    start: (dispatcher: Agent) => Promise<() => Promise<string>>,
  ): Promise<number[]> {
    const dispatcher = new Agent({ connections: null });
    let isOver = false;
    let taken = Promise.withResolvers<{ id: string; worker: string }>();
    const park = async (worker: string) => {
      while (!isOver) {
        const path = `/api/jobs/claim?wait=${waitSeconds}`;
        const text = await ask(dispatcher, path, workerOf(worker));
        if (text !== "") taken.resolve({ id: idOf(text), worker });
      }
    };
    const waiting = runners.map(park);
    for (const one of waiting) one.catch(() => undefined);
    const create = await start(dispatcher);
    await pause(3000);
    const times: number[] = [];
    // V8 compiles during the first ones.
    for (let job = -warmUpJobs; job < jobs; job += 1) {
      taken = Promise.withResolvers();
      const begun = performance.now();
      const created = create();
      const { id, worker } = await taken.promise;
      if (job >= 0) times.push(performance.now() - begun);
      await created;
      await complete(dispatcher, worker, id);
      if (job >= 0) await pause(20);
    }
    isOver = true;
    await dispatcher.destroy();
    await Promise.allSettled(waiting);
    return times;
  }
  return { ask, drain, wake };
}

/** Starts the prototype with queued jobs, and with runners for which there are none. */
export async function startPrototypeQueue(size: QueueSize): Promise<StartedQueue> {
  const runners = Array.from({ length: size.parked }, (_, at) => `runner-${at}`);
  const server = await startPrototype(size.jobs, { idle: runners, busy: ["busy"] });
  const { ask, drain, wake } = callsOf(server.url);
  return {
    drain: (count, lanes) => drain("busy", count, lanes),
    wake: (jobs, parked) =>
      wake(runners.slice(0, parked), jobs, async (dispatcher) => async () => {
        const created = await ask(dispatcher, "/api/jobs", {}, { body: {} });
        return (JSON.parse(created) as { id: string }).id;
      }),
    close: () => server.stop(),
  };
}

/** Starts a server with queued jobs, and with runners of an owner who has none. */
export async function startQueue(size: QueueSize): Promise<StartedQueue> {
  let filled!: Filled;
  let client!: Record<string, string>;
  let runners: string[] = [];
  const server = await startWindlass(async (directory) => {
    filled = await fill(directory, size.jobs);
    runners = await addWorkers(directory, filled.idleOwner, size.parked);
    client = await signIn(directory, filled.idleOwner);
  });
  const { ask, drain, wake } = callsOf(server.url);
  return {
    drain: (count, lanes) => drain(filled.busyWorker, count, lanes),
    wake: (jobs, parked) =>
      wake(runners.slice(0, parked), jobs, async (dispatcher) => {
        const create = async (path: string, body: object) =>
          (JSON.parse(await ask(dispatcher, path, client, { body })) as { id: string }).id;
        const zone_id = await create("/api/cli/zones", { name: "queue" });
        const source = { type: "inline", files: { "main.tf": "" } };
        const configuration_id = await create("/api/cli/configurations", {
          name: "queue",
          zone_id,
          source,
        });
        return () => create("/api/jobs", { job_type: "PLAN", configuration_id });
      }),
    close: () => server.stop(),
  };
}
