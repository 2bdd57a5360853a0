import gt from "semver/functions/gt.js";
import { workerMetadataLimit, type WorkerIdentity } from "../../../protocol/workers.ts";
import type { PublishRelease, RegisterCloudWorker, Release } from "../../../protocol/releases.ts";
import type { PipelineCaller } from "../callers.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { equalSecrets } from "../../../common/equal-secrets.ts";
import { hashToken } from "../../domain/tokens.ts";
import { setFact } from "../../store/facts.ts";
import {
  findLatestVersion,
  findRelease,
  insertRelease,
  latestVersionFact,
} from "../../store/releases/releases.ts";
import { pipeline, record } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { time } from "../../domain/moments.ts";
import { addWorker } from "../workers/workers.ts";

export async function publishRelease(
  { store, now }: Context,
  caller: PipelineCaller,
  { version, release_notes = "" }: PublishRelease,
): Promise<Release> {
  const created_at = now();
  await store.write(async (tx) => {
    if (await tx.first(findRelease, { version }))
      throw new RefusalError("version_exists", `version ${version} is already published`);
    await insertRelease(tx, { version, release_notes, created_at });
    const by = pipeline(caller);
    await record(tx, { by, owner: null, action: "release.publish", id: version }, created_at);
    const latest = await tx.first(findLatestVersion, {});
    if (!latest || gt(version, latest.value)) await setFact(tx, latestVersionFact, version);
  });
  return { version, release_notes, created_at: time(created_at) };
}

/** POST /api/runners/register: a worker without an owner, for all users. */
export async function registerCloudWorker(
  context: Context,
  caller: PipelineCaller,
  { name, metadata = {} }: RegisterCloudWorker,
): Promise<WorkerIdentity> {
  if (Buffer.byteLength(JSON.stringify(metadata)) > workerMetadataLimit)
    throw new RefusalError(
      "payload_too_large",
      `the metadata is larger than ${workerMetadataLimit} bytes`,
    );
  return addWorker(context, { owner: null, by: pipeline(caller), metadata }, { name });
}

export const latestVersion = async ({ store }: Context): Promise<string | null> =>
  (await store.read.first(findLatestVersion, {}))?.value ?? null;

/** Whether this is RELEASE_API_SECRET, compared in constant time. False if none is configured. */
export const isReleaseSecret = ({ releaseSecret }: Context, given: string): boolean =>
  // Hashes have the same length, so the length of the secret is not disclosed either.
  equalSecrets(hashToken(given), hashToken(releaseSecret ?? "")) && releaseSecret !== undefined;
