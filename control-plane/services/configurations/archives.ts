/** Uploaded archives: stored for users, sent to the runner whose job has one as its source. */
import type { Archive, ConfigSnapshot } from "../../../protocol/configurations.ts";
import { archiveLimit } from "../../../protocol/limits.ts";
import type { UserCaller, WorkerCaller } from "../callers.ts";
import type { JobRow } from "../../domain/job.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { addArchive, findArchive } from "../../store/configurations/archives.ts";
import { findJob, findSnapshot } from "../../store/jobs/jobs.ts";
import { recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { checkArchiveBytes, countRefusal } from "../storage/quotas.ts";
import {
  contentOf,
  isReadable,
  storeContent,
  type Content,
  type Stored,
} from "../storage/stored-content.ts";
import { shortOf } from "../definitions.ts";

/** Content is stored once per owner; an unreadable one is replaced by a new upload. */
export async function uploadArchive(
  context: Context,
  user: UserCaller,
  content: AsyncIterable<Uint8Array>,
): Promise<Stored<Archive>> {
  return storeContent(context, gzipOnly(content), archiveLimit, async (written) => {
    const { sha256, size_bytes } = written;
    const now = context.now();
    const row = { owner_id: user.space_id, ...written, created_at: now, named_at: now };
    const { owner_id: owner } = row;
    const before = await context.store.read.first(findArchive, { owner, sha256 });
    const replaced = before && !(await isReadable(context, before.blob)) ? before.blob : undefined;
    const stored = context.store.write(async (tx) => {
      if (!(await tx.first(findArchive, { owner, sha256 })))
        await checkArchiveBytes(context, tx, owner, size_bytes);
      if (!(await addArchive(tx, row, replaced))) return false;
      const details = { size_bytes };
      const entry = { action: "archive.upload", id: sha256, details } as const;
      await recordOwn(tx, user, entry, row.created_at);
      return true;
    });
    const answer = { sha256, size_bytes };
    return { answer, stored: await countRefusal(context, stored), replaced };
  });
}

/** Refuses content that is not a gzip file (RFC 1952), at its first bytes. */
export async function* gzipOnly(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const magic = [0x1f, 0x8b];
  let seen = 0;
  for await (const chunk of content) {
    for (const byte of chunk.subarray(0, magic.length - seen))
      if (byte !== magic[seen++]) throw notGzip();
    yield chunk;
  }
  if (seen < magic.length) throw notGzip();
}

const notGzip = (): RefusalError =>
  new RefusalError("bad_request", "the file is not in gzip format");

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
  const { source } = row ? shortOf<ConfigSnapshot>(row.config_snapshot) : {};
  return source?.type === "archive" ? source.sha256 : undefined;
}
