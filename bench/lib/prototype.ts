/**
 * The least that a server can do for a claim, a poll, a heartbeat, a log post and the end of a job:
 * Fastify, one token check, one statement, and the group commit with which the answer is durable. No roles, audit,
 * approvals, limits, events, metrics or checks of what arrives. What it costs is the bound that HTTP,
 * Fastify and SQLite set on the product (docs/figures.md).
 *
 * `prototype.ts DIRECTORY TOKEN JOBS IDLE-WORKER BUSY-WORKER` prints its address.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import Fastify, { type FastifyRequest } from "fastify";
import { v7 as uuid } from "uuid";

const [directory, token, jobs, idle, busy] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const database = new Database(join(directory, "prototype.db"));
database.pragma("journal_mode = WAL");
database.pragma("synchronous = FULL");
database.exec(`
  create table workers (id text primary key, seen_at integer, version text) without rowid;
  create table jobs (id text primary key, worker text not null, status text not null, claimed_at integer, definition text not null);
  create index queued on jobs (worker, id) where status = 'QUEUED';
  create table logs (id integer primary key, job text not null, stream text not null, at integer not null, chunk text not null);
  create index logs_of_job on logs (job, id);`);

const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
const hashes = new Map([idle, busy].map((worker) => [worker, hash(token)]));
const definition = JSON.stringify({ files: { "main.tf": 'output "name" {\n}\n'.repeat(60) } });
database.transaction(() => {
  const addWorker = database.prepare("insert into workers values (?, 0, '')");
  for (const worker of hashes.keys()) addWorker.run(worker);
  const addJob = database.prepare("insert into jobs values (?, ?, 'QUEUED', null, ?)");
  for (let job = 0; job < Number(jobs); job += 1) addJob.run(uuid(), busy, definition);
})();

const statements = {
  begin: database.prepare("begin immediate"),
  commit: database.prepare("commit"),
  heartbeat: database.prepare("update workers set seen_at = ?, version = ? where id = ?"),
  log: database.prepare(
    "insert into logs (job, stream, at, chunk) values (?, ?, ?, ?) returning id",
  ),
  isQueued: database.prepare(
    "select 1 from jobs indexed by queued where worker = ? and status = 'QUEUED' limit 1",
  ),
  claim: database.prepare(
    `update jobs set status = 'PROCESSING', claimed_at = ? where id =
      (select id from jobs indexed by queued where worker = ? and status = 'QUEUED' order by id limit 1)
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

/** Returns the id of the worker that sends the request. */
function workerOf({ headers }: FastifyRequest): string {
  const id = headers["x-worker-id"] as string;
  const expected = hashes.get(id);
  if (!expected || !timingSafeEqual(expected, hash(headers["x-worker-token"] as string)))
    throw new Error("unknown worker");
  return id;
}

const server = Fastify();
server.put("/api/jobs/:id/status", (request) => {
  workerOf(request);
  const { id } = request.params as { id: string };
  const { status } = request.body as { status: string };
  return write(() => statements.complete.run(status, id)).then(() => ({ id, status }));
});
server.post("/api/jobs/claim", async (request, reply) => {
  const worker = workerOf(request);
  if (statements.isQueued.get(worker) === undefined) return reply.code(204).send();
  const job = await write<{ id: string; definition: string }>(() =>
    statements.claim.get(Date.now(), worker),
  );
  return { job: { id: job.id }, definition: JSON.parse(job.definition) as object };
});
server.post("/api/workers/heartbeat", (request) => {
  const worker = workerOf(request);
  const { version } = request.body as { version: string };
  const now = Date.now();
  return write(() => statements.heartbeat.run(now, version, worker)).then(() => ({ status: "OK" }));
});
server.post("/api/jobs/:id/logs", async (request, reply) => {
  workerOf(request);
  const { id } = request.params as { id: string };
  const { stream_type, log_chunk } = request.body as { stream_type: string; log_chunk: string };
  reply.code(201);
  return write(() => statements.log.get(id, stream_type, Date.now(), log_chunk));
});
console.log(await server.listen({ port: 0 }));
