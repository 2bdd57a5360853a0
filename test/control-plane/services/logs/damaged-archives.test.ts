/** Archived logs whose file is damaged, or cannot be read: clear errors, and all other logs go on. */
import { mkdir, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { readConfig } from "../../../../control-plane/config.ts";
import type { JobRow } from "../../../../control-plane/domain/job.ts";
import { archiveLogs } from "../../../../control-plane/services/logs/archiving.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  readRow,
  readRows,
  startPlane,
  type Plane,
} from "../../../helpers/plane/plane.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane, it: base } = planeForFile();

const chunk = (seq: number, log_chunk: string) =>
  ({ seq, stream_type: "STDOUT", log_chunk }) as const;

/** A user with a browser, a runner, and jobs that have failed with two chunks in their logs. */
const it = base.extend("user", () => addUser(plane));

async function addUser(of: Plane) {
  const { owner, headers } = await openSampleUser(of);
  const worker = await addTestWorker(of, owner);
  const runner = callsOf(of, worker.headers);
  const get = (path: string, as: Record<string, string> = headers) =>
    ask(of, "GET", path, { headers: as });
  return {
    worker,
    get,
    post: ({ id }: JobRow, ...chunks: ReturnType<typeof chunk>[]) =>
      runner.call("appendLogs", { params: { id }, body: { chunks } }),
    endedJob: async (): Promise<JobRow> => {
      const job = await addHeldJob(of, owner, worker);
      const params = { id: job.id };
      const chunks = [chunk(1, "one"), chunk(2, "two")];
      await runner.ask("appendLogs", { params, body: { chunks } });
      await runner.ask("reportStatus", { params, body: { status: "FAILED", last_seq: 2 } });
      return job;
    },
  };
}

const archiveNow = (of = plane) => archiveLogs(of.context, 0);

/** Archives all logs. Returns the file with the archive of this one. */
async function archived({ id }: JobRow, of = plane): Promise<string> {
  await archiveNow(of);
  const { blob } = await readRow(of, "log_archives", { job_id: id });
  const { artifactsDirectory } = readConfig({ WINDLASS_DATA_DIR: of.directory });
  return join(artifactsDirectory, blob.slice(0, 2), blob.slice(2));
}

const damages = {
  missing: (file: string) => rm(file),
  "cut off": (file: string) => truncate(file, 100),
};

it.for(Object.entries(damages))(
  "a file that is %s is named to every reader, and no stream begins",
  async ([, damage], { user }) => {
    const job = await user.endedJob();
    await damage(await archived(job));
    for (const [path, headers] of [
      [`/api/cli/jobs/${job.id}/logs`],
      [`/api/jobs/${job.id}/logs/stream`],
      [`/api/jobs/${job.id}/logs`, user.worker.headers],
    ] as const) {
      const { status, text } = await user.get(path, headers);
      expect([path, status]).toEqual([path, 409]);
      expect(text).toContain("the stored content cannot be read");
    }
  },
);

it("a damaged file hides nothing else of the page of its job", async ({ user }) => {
  const job = await user.endedJob();
  await damages.missing(await archived(job));
  const page = await user.get(`/jobs/${job.id}`);
  expect(page.status).toBe(200);
  expect(page.text).toContain("This log cannot be read: The stored content cannot be read");
  expect(page.text).not.toContain("<windlass-log");
  expect(page.text).toContain("Run it again");
});

it("a disk that fails hides nothing else of the page either, and the log says why", async () => {
  const own = await startPlane();
  const user = await addUser(own);
  const job = await user.endedJob();
  const file = await archived(job, own);
  await rm(file);
  await mkdir(file);
  const page = await user.get(`/jobs/${job.id}`);
  expect(page.status).toBe(200);
  expect(page.text).toContain("This log cannot be read: The server failed");
  await expect(own.close()).rejects.toThrow("EISDIR");
});

it("repeated and later chunks are accepted although the file is damaged", async ({ user }) => {
  const job = await user.endedJob();
  await damages["cut off"](await archived(job));
  const { last_id } = await readRow(plane, "log_archives", { job_id: job.id });
  expect(await user.post(job, chunk(1, "one"))).toMatchObject({ id: last_id });
  const late = await user.post(job, chunk(3, "late"));
  expect((await archiveNow()).unreadable).toBe(1);
  const rest = await user.get(`/api/cli/jobs/${job.id}/logs?after=${last_id}`);
  expect(rest.json()).toMatchObject({ logs: [{ id: late.id, log_chunk: "late" }] });
});

it("a log that cannot be archived keeps no other one in the database", async ({ user }) => {
  const job = await user.endedJob();
  const file = await archived(job);
  await user.post(job, chunk(3, "late"));
  const next = await user.endedJob();
  // As a disk with errors does, this fails in another way than content that was changed.
  await rm(file);
  await mkdir(file);
  await expect(archiveNow()).rejects.toThrow("EISDIR");
  expect(await readRows(plane, "log_chunks", { job_id: job.id })).toHaveLength(1);
  expect(await readRows(plane, "log_chunks", { job_id: next.id })).toEqual([]);
});
