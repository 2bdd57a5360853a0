/**
 * Everything that clients do to a control plane, concurrently: users create jobs and refresh their
 * tokens; runners claim, start, log, upload, lock and write states, and report. A client repeats a
 * call unchanged until it gets a response, and records what was acknowledged.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { approve, bearer, cookieOf, type Person } from "../people/sign-in.ts";
import { call } from "../../../protocol/transport.ts";
import { Acknowledged } from "./acknowledged.ts";
import { ask, type TestResponse } from "../plane/plane.ts";
import { runJob, type Claimed } from "./load-runner.ts";

const runnerCount = 4;
const configurationCount = 6;
/** At most this many jobs are queued or running. */
const openJobs = 10;

/** The clients of one server, whatever its address is now. */
export class Load {
  readonly acknowledged = new Acknowledged();
  /** The credential of each job's holder. */
  readonly holders = new Map<string, Record<string, string>>();
  /** The credential of the user who owns the jobs. */
  person: Record<string, string> = {};
  readonly random: () => number;
  /** Set again after each restart of the server. */
  url = "";
  /** Calls without a response. */
  unanswered = 0;
  answered = 0;
  /** Calls with the response 503. */
  refused = 0;
  lastRefusal: { readonly code: unknown; readonly retryAfter: unknown } | undefined;
  /** Responses that no client may get. */
  readonly failures: string[] = [];
  #isStopped = false;
  #loops: Promise<void>[] = [];

  constructor(random: () => number) {
    this.random = random;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Signs in by a one-time link, creates configurations and workers, and starts all loops. */
  async start(link: string): Promise<void> {
    const opened = await ask(this, "GET", link);
    const cookie = cookieOf(opened) ?? "";
    const browser = { email: "", headers: { cookie, origin: this.url } };
    // A page of the console sends this header whatever its port is.
    const person = (this.person = { cookie, "sec-fetch-site": "same-origin" });
    const make = async (path: string, body: unknown) =>
      (await this.call("POST", path, { headers: person, json: body, expect: [201] })).json();
    const zone = (await make("/api/cli/zones", { name: "zone" }))["id"];
    const configurations: string[] = [];
    for (let n = 0; n < configurationCount; n += 1) {
      const source = { type: "inline", files: { "main.tf": "" } };
      const made = await make("/api/cli/configurations", {
        name: `c${n}`,
        zone_id: zone,
        source,
      });
      configurations.push(String(made["id"]));
      this.acknowledged.states.set(`c${n}`, new Map());
    }
    // `failures` reports a failed loop. It must not end the test before the server is stopped.
    const begin = (loop: Promise<void>) =>
      this.#loops.push(loop.catch((error: unknown) => void this.failures.push(String(error))));
    begin(this.#create(person, configurations));
    begin(this.#refresh(browser));
    for (let n = 0; n < runnerCount; n += 1) {
      const made = await make("/api/cli/workers", { name: `w${n}` });
      const headers = {
        "x-worker-id": String(made["worker_id"]),
        "x-worker-token": String(made["worker_token"]),
      };
      begin(this.#run(headers, configurations));
    }
  }

  /** Stops all loops after their current round. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#loops);
  }

  /**
   * Repeats the call until it gets a response. Every status other than those expected and 503 is a
   * failure.
   */
  async call(
    method: string,
    path: string,
    {
      headers = {},
      json,
      bytes,
      expect = [200],
    }: {
      headers?: Record<string, string>;
      json?: unknown;
      /** Creates the body, again for every attempt. */
      bytes?: () => Buffer | AsyncIterable<Uint8Array>;
      expect?: number[];
    } = {},
  ): Promise<TestResponse> {
    for (;;) {
      let answer: TestResponse | undefined;
      try {
        answer = await ask(this, method, path, {
          headers:
            json === undefined ? headers : { ...headers, "content-type": "application/json" },
          ...(json === undefined ? {} : { body: JSON.stringify(json) }),
          ...(bytes ? { body: bytes() } : {}),
        });
      } catch {
        this.unanswered += 1;
      }
      if (answer && answer.status !== 503) {
        this.answered += 1;
        if (expect.includes(answer.status)) return answer;
        throw new Error(`${method} ${path} returned ${answer.status} ${answer.body.toString()}`);
      }
      if (answer) {
        this.refused += 1;
        const { code } = answer.json();
        this.lastRefusal = { code, retryAfter: answer.headers["retry-after"] };
      }
      await sleep(10);
    }
  }

  async #create(headers: Record<string, string>, configurations: string[]): Promise<void> {
    const { created, ended } = this.acknowledged;
    while (!this.#isStopped) {
      await sleep(5);
      if (created.size - ended.size >= openJobs) continue;
      const json = {
        job_type: this.random() < 0.5 ? "PLAN" : "DEPLOY",
        configuration_id: configurations[Math.floor(this.random() * configurations.length)],
      };
      const answer = await this.call("POST", "/api/jobs", { headers, json, expect: [201] });
      created.add(String(answer.json()["id"]));
    }
  }

  async #run(headers: Record<string, string>, configurations: string[]): Promise<void> {
    while (!this.#isStopped) {
      await this.call("POST", "/api/workers/heartbeat", {
        headers,
        json: { version: "1.0.0", active_job_ids: [] },
      });
      const key = randomUUID();
      const claim = await this.call("POST", "/api/jobs/claim?wait=1", {
        headers: { ...headers, "idempotency-key": key },
        expect: [200, 204],
      });
      if (claim.status === 204) continue;
      const { job } = claim.json() as unknown as { job: Claimed };
      const claims = this.acknowledged.claims.get(job.id) ?? new Set();
      this.acknowledged.claims.set(job.id, claims.add(`attempt ${job.attempt} of ${key}`));
      this.holders.set(job.id, headers);
      await runJob(this, headers, job, `c${configurations.indexOf(job.spec_id)}`);
    }
  }

  /**
   * Refreshes one login continuously: the newest pair always works, unless the response of its
   * rotation was lost.
   */
  async #refresh(browser: Pick<Person, "headers">): Promise<void> {
    let token: string | undefined;
    while (!this.#isStopped) {
      await sleep(20);
      token ??= await this.#signIn(browser);
      if (token === undefined) continue;
      const before = this.unanswered;
      const path = "/api/auth/cli/refresh";
      const json = { refresh_token: token };
      const answer = await this.call("POST", path, { json, expect: [200, 401] });
      if (answer.status === 401 && before === this.unanswered)
        throw new Error("a refresh token that was acknowledged is refused");
      token = answer.status === 200 ? String(answer.json()["refresh_token"]) : undefined;
      if (answer.status === 200)
        await this.call("GET", "/api/cli/logins?limit=1", {
          headers: bearer(String(answer.json()["access_token"])),
        });
    }
  }

  async #signIn(browser: Pick<Person, "headers">): Promise<string | undefined> {
    try {
      const headers = { cookie: browser.headers.cookie, origin: this.url };
      const { device_code, verification_code } = await approve(this, { headers });
      const body = { device_code, verification_code };
      return (await call(this.url, "exchangeDeviceLogin", { body }))?.refresh_token;
    } catch {
      // A response was lost in between: starts again with another code.
      return undefined;
    }
  }
}
