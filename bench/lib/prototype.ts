/**
 * The least that a server can do for a claim, a poll, a heartbeat, a log post, a new job and the end of a
 * job: Fastify, one token check, one statement, and the group commit with which the answer is durable. No
 * roles, audit, approvals, limits, events, metrics or checks of what arrives. What it costs is the bound
 * that HTTP, Fastify and SQLite set on the product (docs/figures.md).
 *
 * `prototype.ts DIRECTORY TOKEN JOBS` prints its address. The directory has `workers.json`, with the ids
 * of the workers of each of two queues, `idle` and `busy`; the jobs are in `busy`.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import Database from "better-sqlite3";
import Fastify, { type FastifyRequest } from "fastify";
import { v7 as uuid } from "uuid";

export type PrototypeWorkers = Readonly<Record<"idle" | "busy", readonly string[]>>;

const [directory, token, jobs] = process.argv.slice(2) as [string, string, string];
const database = new Database(join(directory, "prototype.db"));
database.pragma("journal_mode = WAL");
database.pragma("synchronous = FULL");
database.exec(`
  create table workers (id text primary key, seen_at integer, version text) without rowid;
  create table jobs (id text primary key, queue text not null, status text not null, claimed_at integer, definition text not null);
  create index queued on jobs (queue, id) where status = 'QUEUED';
  create table logs (id integer primary key, job text not null, stream text not null, at integer not null, chunk text not null);
  create index logs_of_job on logs (job, id);`);

const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
const queues = JSON.parse(
  readFileSync(join(directory, "workers.json"), "utf8"),
) as PrototypeWorkers;
const workers = new Map<string, { id: string; queue: string; hash: Buffer }>();
for (const [queue, ids] of Object.entries(queues))
  for (const id of ids) workers.set(id, { id, queue, hash: hash(token) });
const definition = JSON.stringify({ files: { "main.tf": 'output "name" {\n}\n'.repeat(60) } });
const addJob = database.prepare("insert into jobs values (?, ?, 'QUEUED', null, ?)");
database.transaction(() => {
  const addWorker = database.prepare("insert into workers values (?, 0, '')");
  for (const worker of workers.keys()) addWorker.run(worker);
  for (let job = 0; job < Number(jobs); job += 1) addJob.run(uuid(), "busy", definition);
})();

const statements = {
  begin: database.prepare("begin immediate"),
  commit: database.prepare("commit"),
  heartbeat: database.prepare("update workers set seen_at = ?, version = ? where id = ?"),
  log: database.prepare(
    "insert into logs (job, stream, at, chunk) values (?, ?, ?, ?) returning id",
  ),
  isQueued: database.prepare(
    "select 1 from jobs indexed by queued where queue = ? and status = 'QUEUED' limit 1",
  ),
  claim: database.prepare(
    `update jobs set status = 'PROCESSING', claimed_at = ? where id =
      (select id from jobs indexed by queued where queue = ? and status = 'QUEUED' order by id limit 1)
      returning id, definition`,
  ),
  complete: database.prepare("update jobs set status = ? where id = ?"),
};

interface Change {
  readonly run: () => unknown;
  readonly settle: (result: never) => void;
}
let changes: Change[] = [];

/** All changes of a turn of the event loop share one commit. */
function write<T>(run: () => unknown): Promise<T> {
  return new Promise((settle) => {
    if (changes.push({ run, settle }) === 1) setImmediate(commit);
  });
}

function commit(): void {
  const taken = changes;
  changes = [];
  statements.begin.run();
  const results = taken.map(({ run }) => run());
  statements.commit.run();
  for (const [at, { settle }] of taken.entries()) settle(results[at] as never);
}

/** Returns the worker that sends the request. */
function workerOf({ headers }: FastifyRequest): { id: string; queue: string } {
  const worker = workers.get(headers["x-worker-id"] as string);
  const given = hash(headers["x-worker-token"] as string);
  if (!worker || !timingSafeEqual(worker.hash, given)) throw new Error("unknown worker");
  return worker;
}

/** The claims that wait for a job, by queue. */
const waiting = new Map<string, Set<() => void>>();

/** Resolves after so many seconds, or earlier for one of those that wait when a job is queued. */
function jobQueued(queue: string, seconds: number): Promise<void> {
  const waits = waiting.get(queue) ?? new Set();
  waiting.set(queue, waits);
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      waits.delete(end);
      resolve();
    };
    const timer = setTimeout(end, seconds * 1000);
    waits.add(end);
  });
}

const waitOf = ({ query }: FastifyRequest): number => Number((query as { wait?: string }).wait);

const server = Fastify();
server.put("/api/jobs/:id/status", (request) => {
  workerOf(request);
  const { id } = request.params as { id: string };
  const { status } = request.body as { status: string };
  return write(() => statements.complete.run(status, id)).then(() => ({ id, status }));
});
server.post("/api/jobs", async () => {
  const id = uuid();
  await write(() => addJob.run(id, "idle", definition));
  const [first] = waiting.get("idle") ?? [];
  first?.();
  return { id };
});
server.post("/api/jobs/claim", async (request, reply) => {
  const { queue } = workerOf(request);
  const wait = waitOf(request);
  if (wait > 0 && statements.isQueued.get(queue) === undefined) await jobQueued(queue, wait);
  if (statements.isQueued.get(queue) === undefined) return reply.code(204).send();
  const job = await write<{ id: string; definition: string }>(() =>
    statements.claim.get(Date.now(), queue),
  );
  return { job: { id: job.id }, definition: JSON.parse(job.definition) as object };
});
server.post("/api/workers/heartbeat", (request) => {
  const worker = workerOf(request);
  const { version } = request.body as { version: string };
  const wait = waitOf(request);
  const answer = { status: "OK" };
  return write(() => statements.heartbeat.run(Date.now(), version, worker.id)).then(() =>
    wait > 0 ? pause(wait * 1000, answer) : answer,
  );
});
server.post("/api/jobs/:id/logs", async (request, reply) => {
  workerOf(request);
  const { id } = request.params as { id: string };
  const { stream_type, log_chunk } = request.body as { stream_type: string; log_chunk: string };
  reply.code(201);
  return write(() => statements.log.get(id, stream_type, Date.now(), log_chunk));
});
console.log(await server.listen({ port: 0 }));
