/** Runners that one process simulates: what each sends, and how long each kind of call took. */
import { setTimeout as pause } from "node:timers/promises";
import { Agent } from "undici";
import { token } from "./fill.ts";

/** How a runner with a job behaves. */
export interface JobLoad {
  readonly posts: number;
  /** Each of 1 KB. An agent sends a post every 100 ms at most. */
  readonly postsPerSecond: number;
}

/** The kinds of calls that are timed: of one that waits, what it took longer than its wait. */
type Call = "heartbeat" | "claim" | "status" | "log";

export class Runners {
  /** The milliseconds of each call since the last `forget`. */
  readonly times = new Map<Call, number[]>();
  /** How many requests were sent again because their connection was reset. */
  resets = 0;
  /** How many calls of runners without a job have ended. */
  idleCalls = 0;
  readonly #url: string;
  readonly #dispatcher = new Agent({
    connections: null,
    headersTimeout: 0,
    connect: { timeout: 60_000 },
  });

  constructor(url: string) {
    this.#url = url;
  }

  forget(): void {
    this.times.clear();
    this.resets = 0;
    this.idleCalls = 0;
  }

  /** Ends all connections, and with them what the runners wait for. */
  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  /** One period of a runner without a job: a heartbeat, and a claim that waits so many seconds. */
  async beIdle(worker: string, waitSeconds: number): Promise<void> {
    await Promise.all([
      this.#heartbeat(worker, []),
      this.#send("claim", worker, `/api/jobs/claim?wait=${waitSeconds}`, { waitSeconds }),
    ]);
  }

  async runJob(
    worker: string,
    { posts, postsPerSecond }: JobLoad,
    onClaimed?: (job: string) => void,
  ): Promise<void> {
    const claimed = await this.#send("claim", worker, "/api/jobs/claim", {});
    const { id } = (JSON.parse(claimed) as { job: { id: string } }).job;
    onClaimed?.(id);
    const report = (body: object) =>
      this.#send("status", worker, `/api/jobs/${id}/status`, { method: "PUT", body });
    await report({ status: "PROCESSING" });
    const begun = performance.now();
    for (let seq = 1; seq <= posts; seq += 1) {
      await this.#send("log", worker, `/api/jobs/${id}/logs`, {
        body: { seq, stream_type: "STDOUT", log_chunk },
      });
      await pause(Math.max(0, begun + (seq * 1000) / postsPerSecond - performance.now()));
    }
    await report({ status: "SUCCESS", last_seq: posts });
  }

  /** Is idle until the connections are closed, from anywhere in its first period. */
  async stayIdle(worker: string, waitSeconds: number, firstWait: number): Promise<void> {
    const beat = async () => {
      await pause(firstWait * 1000);
      for (;;) {
        await this.#heartbeat(worker, []);
        this.idleCalls += 1;
        await pause(waitSeconds * 1000);
      }
    };
    const claim = async () => {
      for (let wait = firstWait; ; wait = waitSeconds) {
        await this.#send("claim", worker, `/api/jobs/claim?wait=${wait}`, { waitSeconds: wait });
        this.idleCalls += 1;
      }
    };
    await Promise.all([beat(), claim()]);
  }

  /** Runs one job after another until the connections are closed. */
  async stayBusy(worker: string, waitSeconds: number, load: JobLoad): Promise<void> {
    let job = "";
    const work = async () => {
      for (;;) await this.runJob(worker, load, (claimed) => (job = claimed));
    };
    // The heartbeat of a runner with a job stays open, so that it learns of a cancel at once.
    const beat = async () => {
      for (;;)
        if (job === "") await pause(100);
        else await this.#heartbeat(worker, [job], waitSeconds);
    };
    await Promise.all([work(), beat()]);
  }

  #heartbeat(worker: string, active_job_ids: string[], waitSeconds = 0): Promise<string> {
    const body = { version: "1.0.0", active_job_ids };
    const wait = waitSeconds > 0 ? `?wait=${waitSeconds}` : "";
    return this.#send("heartbeat", worker, `/api/workers/heartbeat${wait}`, { body, waitSeconds });
  }

  /** As an agent does, sends a request again whose connection was reset. */
  async #send(...call: Parameters<Runners["sendOnce"]>): Promise<string> {
    for (;;)
      try {
        return await this.sendOnce(...call);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== "ECONNRESET" && code !== "UND_ERR_SOCKET") throw error;
        this.resets += 1;
      }
  }

  private async sendOnce(
    call: Call,
    worker: string,
    path: string,
    {
      method = "POST",
      body,
      waitSeconds = 0,
    }: { method?: "POST" | "PUT"; body?: object; waitSeconds?: number },
  ): Promise<string> {
    const begun = performance.now();
    const response = await this.#dispatcher.request({
      origin: this.#url,
      method,
      path,
      headers: {
        "x-worker-id": worker,
        "x-worker-token": token,
        ...(body ? { "content-type": "application/json" } : {}),
      },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await response.body.text();
    if (response.statusCode >= 300)
      throw new Error(`${path} returned ${response.statusCode}: ${text}`);
    const times = this.times.get(call) ?? [];
    times.push(performance.now() - begun - waitSeconds * 1000);
    this.times.set(call, times);
    return text;
  }
}

const log_chunk = `${"x".repeat(79)}\n`.repeat(13);
