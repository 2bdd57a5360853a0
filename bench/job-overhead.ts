/**
 * The time of the smallest job from its creation to its end, with a
 * waiting agent, as a ratio to the terraform commands in `sh` that a user would run. The job's time
 * includes the queue, the claim, the log, a durable managed state, the outputs and the report. `sh`
 * runs the commands twice: with the state at an HTTP server that keeps it in memory, so that
 * terraform does the same work, and with the state in a file.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { call } from "../protocol/transport.ts";
import { fill, type Filled } from "./lib/fill.ts";
import { startAgent, startWindlass, stop } from "./lib/processes.ts";
import { signIn } from "./lib/sign-in.ts";
import { median, printTable, type Figure } from "./lib/table.ts";

const rounds = 9;
const files = { "main.tf": 'output "cluster_name" {\n  value = "bench"\n}\n' };

const scratch = mkdtempSync(join(tmpdir(), "windlass-bench-"));
let filled!: Filled;
let headers!: Record<string, string>;
const server = await startWindlass(async (directory) => {
  filled = await fill(directory, 0);
  headers = await signIn(directory, filled.busyOwner);
});
let agent = startAgent(server.url, filled.busyWorker, join(scratch, "agent"));

try {
  const zone = await call(server.url, "createZone", { body: { name: "bench" } }, { headers });
  const spec = await call(
    server.url,
    "createConfiguration",
    { body: { name: "smallest", zone_id: zone!.id, source: { type: "inline", files } } },
    { headers },
  );
  const throughAgent = async (): Promise<number> => {
    const body = { job_type: "DEPLOY", configuration_id: spec!.id } as const;
    let job = await call(server.url, "createJob", { body }, { headers });
    while (job!.status === "QUEUED" || job!.status === "PROCESSING") {
      // The duration is the server's own. Asking more often would only slow the job down.
      await pause(250);
      job = await call(server.url, "getJob", { params: { id: job!.id } }, { headers });
    }
    if (job!.status !== "SUCCESS")
      throw new Error(`the job is ${job!.status}: ${job!.error_message}`);
    return Date.parse(job!.ended_at!) - Date.parse(job!.created_at);
  };
  let folders = 0;
  const inShell = async (backend: Record<string, string>): Promise<number> => {
    const folder = mkdtempSync(join(scratch, `sh-${(folders += 1)}-`));
    writeFileSync(join(folder, "main.tf"), files["main.tf"]);
    if (Object.keys(backend).length > 0)
      writeFileSync(join(folder, "backend.tf"), 'terraform {\n  backend "http" {}\n}\n');
    const commands = [
      "terraform init -input=false",
      "{ terraform plan -input=false -lock-timeout=60s -detailed-exitcode -out=tfplan || [ $? = 2 ]; }",
      "terraform apply -input=false -lock-timeout=60s tfplan",
      "terraform output -json",
    ];
    const start = performance.now();
    const child = spawn("sh", ["-c", commands.join(" && ")], {
      cwd: folder,
      env: {
        PATH: process.env["PATH"],
        HOME: folder,
        TF_IN_AUTOMATION: "1",
        CHECKPOINT_DISABLE: "1",
        ...backend,
      },
      stdio: "ignore",
    });
    const [status] = (await once(child, "exit")) as [number | null];
    if (status !== 0) throw new Error(`the commands in sh ended with ${status}`);
    return performance.now() - start;
  };
  await throughAgent();
  await inShell({});
  const samples: { agent: number; http: number; file: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const memory = await startStateServer();
    const http = await inShell({
      TF_HTTP_ADDRESS: memory.url,
      TF_HTTP_LOCK_ADDRESS: memory.url,
      TF_HTTP_UNLOCK_ADDRESS: memory.url,
    });
    memory.close();
    samples.push({ http, agent: await throughAgent(), file: await inShell({}) });
  }
  const of = (key: "agent" | "http" | "file") => median(samples.map((sample) => sample[key]));
  const figure = (what: string, key: "http" | "file"): Figure => ({
    row: "12",
    what: `smallest DEPLOY, sh with ${what}`,
    value: median(samples.map((sample) => sample.agent / sample[key])),
    goal: 1.15,
    better: "smaller",
    more: `${of("agent").toFixed(0)} ms, sh ${of(key).toFixed(0)} ms`,
  });
  printTable("Duration of the smallest job / of its commands in sh", [
    figure("state over HTTP", "http"),
    figure("state in a file", "file"),
  ]);
  if (process.getuid?.() === 0) await printStarts();

  /**
   * A PLAN, and as soon as it has ended its DEPLOY by the same runner, while the directory for
   * temporary files of the machine has many files.
   */
  async function printStarts(): Promise<void> {
    await stop(agent);
    agent = startAgent(server.url, filled.busyWorker, join(scratch, "uid"), {
      WINDLASS_ISOLATION: "uid",
      WINDLASS_CONCURRENCY: "2",
    });
    // Jobs enter it, and may list all directories in which the files are.
    chmodSync(scratch, 0o755);
    for (let folder = 0; folder < 150; folder += 1) {
      mkdirSync(join(scratch, "many", String(folder)), { recursive: true });
      for (let file = 0; file < 1000; file += 1)
        writeFileSync(join(scratch, "many", String(folder), String(file)), "");
    }
    const ended = async (body: Record<string, unknown>) => {
      const given = { configuration_id: spec!.id, ...body } as never;
      let job = await call(server.url, "createJob", { body: given }, { headers });
      while (job!.ended_at === null) {
        await pause(10);
        job = await call(server.url, "getJob", { params: { id: job!.id } }, { headers });
      }
      if (job!.status !== "SUCCESS") throw new Error(`${job!.status}: ${job!.error_message}`);
      return job!;
    };
    const waits: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const plan = await ended({ job_type: "PLAN" });
      const deploy = await ended({ job_type: "DEPLOY", plan_job_id: plan.id });
      if (round > 0) waits.push(Date.parse(deploy.started_at!) - Date.parse(deploy.claimed_at!));
    }
    printTable("The next job of a runner at the level uid, with 150,000 files in /tmp", [
      {
        row: "12",
        what: "from the claim to the start of a DEPLOY right after its PLAN, ms",
        value: median(waits),
        goal: 50,
        better: "smaller",
        more: `slowest ${Math.max(...waits)} ms`,
      },
    ]);
  }
} finally {
  await stop(agent);
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}

/** A minimal server for the http backend of terraform. */
async function startStateServer(): Promise<{ url: string; close(): void }> {
  let state: Buffer | undefined;
  const serve = async (request: IncomingMessage, answer: ServerResponse) => {
    const body = Buffer.concat(await request.toArray());
    if (request.method === "POST") state = body;
    if (request.method === "GET" && state === undefined) answer.writeHead(204).end();
    else answer.end(request.method === "GET" ? state : undefined);
  };
  const server = createServer((request, answer) => void serve(request, answer));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  };
}
