/**
 * Control planes behind a plain TCP load balancer, with real agents, real terraform and the
 * client's own calls, while one server after the other is killed with kill -9: every job runs once,
 * no line of a log is lost or doubled, and no client sees a 5xx.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openApi, type Api } from "../../cli/api/api.ts";
import { followJob } from "../../cli/logs/follow.ts";
import { CliError } from "../../cli/terminal/output.ts";
import { ProblemError } from "../../protocol/transport.ts";
import { scratch, startAgent, until, type AgentProcess } from "../helpers/agent/agent-process.ts";
import { startBalancer } from "../helpers/network/balancer.ts";
import { newSharedLink, sharedSettings } from "../helpers/plane/control-planes.ts";
import { ask } from "../helpers/plane/plane.ts";
import { lackOfPostgres, startPostgres } from "../helpers/store/postgres.ts";
import { proving } from "../helpers/project/proving.ts";
import { spawnServer, type ServerProcess } from "../helpers/plane/server-process.ts";
import { cookieOf } from "../helpers/people/sign-in.ts";
import { skipAt } from "../helpers/project/tools.ts";

skipAt(lackOfPostgres());

/** `openJobs`: at most this many jobs are queued or running. */
const forms = proving
  ? [
      { servers: 2, agents: 50, openJobs: 4, kills: 20, seconds: 120 },
      { servers: 3, agents: 50, openJobs: 4, kills: 20, seconds: 120 },
    ]
  : [{ servers: 2, agents: 2, openJobs: 2, kills: 3, seconds: 0 }];
/** An address that refuses connections. */
const nowhere = "http://127.0.0.1:1";
const ticks = 20;

/** Counts for some seconds, and notes in a file which job did. */
const source = (runs: string) => `
  resource "terraform_data" "count" {
    triggers_replace = timestamp()
    provisioner "local-exec" {
      quiet   = true
      command = <<-EOT
        echo "$TF_HTTP_USERNAME" >> ${runs}
        i=0; while [ $i -lt ${ticks} ]; do i=$((i + 1)); echo "tick $i"; sleep 0.05; done
      EOT
    }
  }`;

test.for(forms)(
  "kill -9 of $servers servers in turn, with $agents agents, loses and doubles nothing",
  async ({ servers: count, agents: agentCount, openJobs, kills, seconds }) => {
    using place = scratch();
    const database = await startPostgres();
    const url = await database.create();
    await using balancer = await startBalancer();
    const settings = sharedSettings(url, place.path);
    const spawn = (index: number): ServerProcess =>
      spawnServer(join(place.path, `data-${index}`), settings);
    const servers = Array.from({ length: count }, (_, index) => spawn(index));
    const agents: AgentProcess[] = [];
    const stop = new AbortController();
    try {
      balancer.targets = await Promise.all(servers.map(({ ready }) => ready));
      const { api, workers } = await prepare(balancer.url, await newSharedLink(url), agentCount);
      for (const [index, worker] of workers.entries())
        agents.push(
          startAgent({
            ...worker,
            WINDLASS_URL: balancer.url,
            WINDLASS_WORK_DIR: join(place.path, `agent-${index}`),
            WINDLASS_ISOLATION: "process",
            WINDLASS_HEARTBEAT_SECONDS: "5",
          }),
        );
      const runs = join(place.path, "runs");
      writeFileSync(runs, "");
      const clients = new Clients(api, runs, stop.signal);
      const work = clients.run(openJobs);
      await until(() => clients.hasFailed || clients.created.size > 0);

      const began = performance.now();
      let killed = 0;
      const isOver = () => killed >= kills && performance.now() - began >= seconds * 1000;
      for (; !isOver() && !clients.hasFailed; killed += 1) {
        const index = killed % count;
        const before = clients.reads;
        servers[index]!.kill("SIGKILL");
        // Another program may get its port, so the load balancer must not connect there.
        balancer.targets = balancer.targets.with(index, nowhere);
        expect(await servers[index]!.exited).toBeNull();
        await until(() => clients.hasFailed || clients.reads > before + 3);
        servers[index] = spawn(index);
        balancer.targets = balancer.targets.with(index, await servers[index].ready);
        await until(() => clients.hasFailed || clients.reads > before + 6);
      }
      clients.stopCreating();
      await work;
      expect(clients.failures).toEqual([]);

      for (const agent of agents) agent.kill("SIGTERM");
      for (const agent of agents) expect(await agent.exited).toBe(0);
      const { jobs } = await api.call("listJobs", {});
      const ran = readFileSync(runs, "utf8").trim().split("\n");
      expect(ran.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
      const wanted = Array.from({ length: ticks }, (_, n) => `tick ${n + 1}`);
      for (const { id, status, log_complete } of jobs) {
        expect({ id, status, log_complete }).toEqual({ id, status: "SUCCESS", log_complete: true });
        const { logs } = await api.call("getJobLogs", { params: { id } });
        const stored = logs.map(({ log_chunk }) => log_chunk).join("");
        expect(stored.match(/tick \d+/g)).toEqual(wanted);
        // A client that followed it got the same.
        const followed = clients.followed.get(id);
        if (followed !== undefined) expect(followed).toBe(stored);
      }
      for (const server of servers) server.kill("SIGTERM");
      expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual(servers.map(() => 0));
      const repeated = agents.reduce(
        (sum, agent) => sum + agent.log().split("it is repeated").length - 1,
        0,
      );
      process.stderr.write(
        `${count} servers, ${agentCount} agents: ${killed} kills in ${Math.round((performance.now() - began) / 1000)} s, ${jobs.length} jobs, ${jobs.length * ticks} lines; ${clients.reads} reads, ${clients.followed.size} logs followed, ${clients.lost} creations cut; agents repeated ${repeated} calls\n`,
      );
    } finally {
      stop.abort();
      for (const agent of agents) agent.kill("SIGKILL");
      for (const server of servers) server.kill("SIGKILL");
      await Promise.all([...agents, ...servers].map(({ exited }) => exited));
      await database.close();
    }
  },
);

/** Signs in by a one-time link. Returns the API of the client, and the settings of the agents. */
async function prepare(url: string, link: string, agents: number) {
  const cookie = cookieOf(await ask({ url }, "GET", link)) ?? "";
  const token = await ask({ url }, "POST", "/api/cli/access-tokens", {
    headers: { cookie, "sec-fetch-site": "same-origin" },
    json: { name: "client", role: "admin" },
  });
  const settings = { url, token: String(token.json()["access_token"]), directory: "/nowhere" };
  const api = openApi({ settings, server: undefined, profile: undefined });
  const workers: Record<string, string>[] = [];
  for (let n = 0; n < agents; n += 1) {
    const made = await api.call("createWorker", { body: { name: `w${n}` } });
    workers.push({ WINDLASS_WORKER_ID: made.worker_id, WINDLASS_WORKER_TOKEN: made.worker_token });
  }
  return { api, workers };
}

/** Users: they create jobs, follow the log of each, and read all the time. */
class Clients {
  readonly #api: Api;
  readonly #runs: string;
  readonly #signal: AbortSignal;
  readonly #creation = new AbortController();
  readonly created = new Set<string>();
  /** The log of each job as its follower got it. */
  readonly followed = new Map<string, string>();
  readonly failures: string[] = [];
  #isDone = false;
  reads = 0;
  /** Creations whose response was cut off: the job may exist. */
  lost = 0;

  constructor(api: Api, runs: string, signal: AbortSignal) {
    this.#api = api;
    this.#runs = runs;
    this.#signal = signal;
  }

  get hasFailed(): boolean {
    return this.failures.length > 0;
  }

  stopCreating(): void {
    this.#creation.abort();
  }

  /** Resolves when the jobs that were created have been released. */
  async run(openJobs: number): Promise<void> {
    await Promise.all([this.#read(), this.#create(openJobs)]).catch((error: unknown) =>
      this.failures.push(String((error as Error).stack ?? error)),
    );
  }

  async #create(openJobs: number): Promise<void> {
    const zone = await this.#made(() => this.#api.call("createZone", { body: { name: "zone" } }));
    const followers = new Set<Promise<unknown>>();
    for (let n = 0; !this.#creation.signal.aborted; n += 1) {
      this.#signal.throwIfAborted();
      const files = { "main.tf": source(this.#runs) };
      const configuration = await this.#made(() =>
        this.#api.call("createConfiguration", {
          body: { name: `c${n}`, zone_id: zone.id, source: { type: "inline", files } },
        }),
      );
      const job = await this.#made(() =>
        this.#api.call("createJob", {
          body: { job_type: "DEPLOY", configuration_id: configuration.id },
        }),
      );
      this.created.add(job.id);
      const follower = this.#follow(job.id).finally(() => followers.delete(follower));
      followers.add(follower);
      if (followers.size >= openJobs) await Promise.race(followers);
    }
    await Promise.all(followers);
    // Those whose creation was cut off after it had been carried out.
    for (;;) {
      const { jobs } = await this.#api.call("listJobs", {});
      if (jobs.every(({ released_at }) => released_at !== null)) break;
      await sleep(100, undefined, { signal: this.#signal });
    }
    this.#isDone = true;
  }

  /** Creates something, again if the connection was cut off. The name of what exists is taken. */
  async #made<T extends { id: string }>(create: () => Promise<T>): Promise<T> {
    for (;;)
      try {
        return await create();
      } catch (error) {
        const cause = error instanceof CliError ? error.cause : error;
        if (cause instanceof ProblemError && cause.code === "name_taken") {
          const found = await this.#named();
          if (found) return found as T;
        }
        if (cause instanceof ProblemError || !(error instanceof CliError)) throw error;
        this.lost += 1;
      }
  }

  /** Returns the newest configuration, else the zone, whose creation was cut off. */
  async #named(): Promise<{ id: string } | undefined> {
    const { configurations } = await this.#api.call("listConfigurations", { query: { limit: 1 } });
    if (configurations.length > 0) return configurations[0];
    return (await this.#api.call("listZones", {})).zones[0];
  }

  async #follow(id: string): Promise<void> {
    let text = "";
    await followJob(this.#api, id, {
      onChunk: ({ log_chunk }) => (text += log_chunk),
      onProgress: () => undefined,
      onTrouble: () => undefined,
      signal: this.#signal,
    });
    this.followed.set(id, text);
  }

  async #read(): Promise<void> {
    while (!this.#isDone) {
      await this.#api.call("listJobs", { query: { limit: 5 } });
      this.reads += 1;
      await sleep(20, undefined, { signal: this.#signal });
    }
  }
}
