/** Plan artifacts and uploaded archives, in and out. */
import type { Readable } from "node:stream";
import { archiveLimit, type Archive, type ConfigSnapshot } from "../../protocol/configurations.ts";
import { planArtifactLimit, type PlanArtifact } from "../../protocol/executions.ts";
import type { UserCaller, WorkerCaller } from "../auth/callers.ts";
import type { JobRow } from "../domain/job.ts";
import { notFound, Refusal } from "../problem.ts";
import {
  addArchive,
  findArchive,
  findArtifact,
  findHeldUseOfPlan,
  saveArtifact,
  type ArtifactRow,
} from "../store/artifacts.ts";
import { findJob, findSnapshot } from "../store/jobs.ts";
import type { Context } from "./context.ts";
import { findFenced, startJob } from "./executions.ts";
import { writeJobs } from "./job-changes.ts";
import { storeContent, type Recorded } from "./stored-content.ts";

/** Content to be sent: what it is, and how to read it or a part of it. */
export interface Content {
  readonly sha256: string;
  readonly size_bytes: number;
  read(range?: { start: number; end: number }): Promise<Readable>;
}

/**
 * POST /api/jobs/{id}/plan-artifact: once per attempt. The same bytes again are the same answer and store nothing; those of a newer
 * attempt take the place of the older one's.
 */
export async function uploadPlanArtifact(
  context: Context,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
  content: AsyncIterable<Uint8Array>,
): Promise<Recorded<PlanArtifact>> {
  // Judged before the body is read, and again when it is there: an upload takes long.
  await findFenced(context.store.read, worker, id, attempt);
  return storeContent(context, content, planArtifactLimit, (written) =>
    writeJobs(context, async (tx, rings) => {
      const now = context.now();
      const job = await findFenced(tx, worker, id, attempt);
      const existing = await tx.first(findArtifact, { job: job.id });
      if (existing?.attempt === job.attempt) {
        if (existing.sha256 !== written.sha256) throw new Refusal("artifact_exists");
        return { answer: artifactOf(existing), stored: false };
      }
      await startJob(tx, rings, job, now);
      const row = { job_id: job.id, attempt: job.attempt, ...written, created_at: now };
      await saveArtifact(tx, row);
      return { answer: artifactOf(row), stored: true, replaced: existing?.blob };
    }),
  );
}

const artifactOf = ({ job_id, size_bytes, sha256 }: ArtifactRow): PlanArtifact => ({
  job_id,
  size_bytes,
  sha256,
});

/**
 * GET /api/jobs/{id}/plan-artifact: of a DEPLOY the artifact of the plan it names, because a claim of the bare interface names only the
 * job itself.
 */
export async function findPlanArtifact(
  context: Context,
  worker: WorkerCaller,
  id: string,
): Promise<Content> {
  const { read } = context.store;
  const job = await read.first(findJob, { id });
  const mayRead =
    job &&
    (job.worker_id === worker.id ||
      (await read.first(findHeldUseOfPlan, { plan: id, worker: worker.id })));
  if (!mayRead) throw notFound("job");
  const artifact = await read.first(findArtifact, { job: job.plan_job_id ?? job.id });
  if (!artifact) throw notFound("plan artifact");
  return contentOf(context, artifact);
}

/** POST /api/cli/archives: kept once per owner and content. */
export async function uploadArchive(
  context: Context,
  user: UserCaller,
  content: AsyncIterable<Uint8Array>,
): Promise<Recorded<Archive>> {
  return storeContent(context, gzipOnly(content), archiveLimit, async (written) => {
    const { sha256, size_bytes } = written;
    const row = { owner_id: user.user_id, ...written, created_at: context.now() };
    const stored = await context.store.write((tx) => addArchive(tx, row));
    return { answer: { sha256, size_bytes }, stored };
  });
}

/** Refuses at its first bytes what is no gzip file (RFC 1952). */
async function* gzipOnly(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const magic = [0x1f, 0x8b];
  let seen = 0;
  for await (const chunk of content) {
    for (const byte of chunk.subarray(0, magic.length - seen))
      if (byte !== magic[seen++]) throw notGzip();
    yield chunk;
  }
  if (seen < magic.length) throw notGzip();
}

const notGzip = (): Refusal => new Refusal("bad_request", "an archive is a .tar.gz file");

/** GET /api/jobs/{id}/source: the archive that the job's snapshot names, for the worker that holds the job. */
export async function findSource(
  context: Context,
  worker: WorkerCaller,
  id: string,
): Promise<Content> {
  const { read } = context.store;
  const job = await read.first(findJob, { id });
  if (job?.worker_id !== worker.id) throw notFound("job");
  const sha256 = await sourceOf(context, job);
  const archive = sha256 && (await read.first(findArchive, { owner: job.owner_id, sha256 }));
  if (!archive) throw notFound("uploaded source");
  return contentOf(context, archive);
}

async function sourceOf({ store }: Context, { id }: JobRow): Promise<string | undefined> {
  const row = await store.read.first(findSnapshot, { id });
  const { source } = JSON.parse(row?.config_snapshot ?? "{}") as Partial<ConfigSnapshot>;
  return source?.type === "archive" ? source.sha256 : undefined;
}

const contentOf = (
  { blobs }: Context,
  { blob, sha256, size_bytes }: { blob: string; sha256: string; size_bytes: number },
): Content => ({ sha256, size_bytes, read: (range) => blobs.read(blob, range) });
