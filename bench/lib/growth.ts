/** How much the database grows for each finished job with a log of 1 MB. */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import Database from "better-sqlite3";
import { call } from "../../protocol/transport.ts";
import { fill, token, type Filled } from "./fill.ts";
import { startWindlass } from "./processes.ts";
import { signIn } from "./sign-in.ts";

const chunk = "a line of terraform's output\n".repeat(565);
const chunks = 64;
const perPost = 16;

/** Runs jobs whose logs are archived soon. Returns the bytes for each in pages of the database. */
export async function growthPerJob(jobs: number): Promise<number> {
  let filled!: Filled;
  let headers!: Record<string, string>;
  let file = "";
  const server = await startWindlass(
    async (directory) => {
      filled = await fill(directory, 0);
      headers = await signIn(directory, filled.busyOwner);
      file = join(directory, "windlass.db");
    },
    { WINDLASS_TEST_LIMITS: '{"logArchiveSeconds": 0.01}' },
  );
  const db = new Database(file, { readonly: true });
  const { url } = server;
  const worker = { headers: { "x-worker-id": filled.busyWorker, "x-worker-token": token } };
  try {
    const zone = await call(url, "createZone", { body: { name: "bench" } }, { headers });
    const source = { type: "inline", files: { "main.tf": "" } } as const;
    const body = { name: "bench", zone_id: zone!.id, source };
    const configuration = await call(url, "createConfiguration", { body }, { headers });
    const run = async () => {
      const job = { job_type: "PLAN", configuration_id: configuration!.id } as const;
      const { id } = (await call(url, "createJob", { body: job }, { headers }))!;
      await call(url, "claimJob", {}, worker);
      for (let seq = 1; seq <= chunks; seq += perPost) {
        const posted = Array.from({ length: perPost }, (_, index) => ({
          seq: seq + index,
          stream_type: "STDOUT" as const,
          log_chunk: chunk,
        }));
        await call(url, "appendLogs", { params: { id }, body: { chunks: posted } }, worker);
      }
      const ended = { status: "SUCCESS", last_seq: chunks } as const;
      await call(url, "reportStatus", { params: { id }, body: ended }, worker);
    };
    const archived = async () => {
      const left = db.prepare("select count(*) from log_chunks").pluck();
      while (left.get() !== 0) await pause(20);
      return db.prepare("select sum(pgsize) from dbstat").pluck().get() as number;
    };
    // The first jobs begin a page in each index.
    for (let n = 0; n < 10; n += 1) await run();
    const before = await archived();
    for (let n = 0; n < jobs; n += 1) await run();
    return ((await archived()) - before) / jobs;
  } finally {
    db.close();
    await server.stop();
  }
}
