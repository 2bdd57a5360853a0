/**
 * Restores a backup into the data directory. Everything is unpacked to a separate directory and
 * checked first. Only then is the existing content moved aside (never deleted) and the new content
 * renamed into place. A crash in between leaves a mark, and no server starts while it is there.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { linkName } from "../../common/files.ts";
import { ConfigError } from "../../common/settings/config-error.ts";
import type { ServerConfig } from "../config.ts";
import { diskBlobs } from "../blobs/disk.ts";
import { s3Address } from "../blobs/s3-place.ts";
import { sealedBlobs } from "../blobs/sealed.ts";
import { secretBox, type SecretKeys } from "../domain/secret-box.ts";
import { opensStore } from "../data-directory/secret-keys.ts";
import { restorePending, secretKeyChecks } from "../store/facts.ts";
import { holdDirectory, lockName } from "../data-directory/lock.ts";
import { lockDatabase, type Release } from "../store/engines/process-locks.ts";
import { openSnapshot } from "../store/storage/snapshot.ts";
import { flushDirectory } from "./files.ts";
import { databaseName, manifestName, type Manifest } from "./manifest.ts";
import { BadBackupError, unpackBackup } from "./unpack.ts";
import { restoreMark } from "../data-directory/restore-mark.ts";

export interface RestoredBackup {
  readonly manifest: Manifest;
  readonly aside: string | undefined;
}

const asidePrefix = "before-restore-";
const stagePrefix = "restoring-";
const keyName = "WINDLASS_SECRET_KEY";

/**
 * What is in the data directory without being the server's data: its lock, and of the checkout in
 * which the server was started the work directory of a runner, which may be in the middle of an
 * apply, and the file by which `windlass up` recognises the checkout.
 */
const others: ReadonlySet<string> = new Set([lockName, "agent", linkName]);

/** Restores `file`. Throws, with nothing changed, if that is not possible or not allowed. */
export async function restoreBackup(
  config: ServerConfig,
  file: string,
  force: boolean,
): Promise<RestoredBackup> {
  const directory = config.dataDirectory;
  checkLayout(config);
  const isNew = !existsSync(directory);
  const names = isNew ? [] : (await readdir(directory)).filter((name) => !others.has(name));
  const existing = names.filter((name) => !name.startsWith(stagePrefix));
  if (existing.length === 0 && existsSync(join(directory, linkName)))
    throw new ConfigError(
      `${directory} is of a terraform directory that "windlass up" deployed, and contains no data of a server: set WINDLASS_DATA_DIR to the data directory`,
    );
  const release = holdAll(config);
  const stage = join(directory, `${stagePrefix}${randomBytes(6).toString("hex")}`);
  try {
    if (existing.length > 0 && !force)
      throw new Error(
        `${directory} is not empty; with --force, its content is moved to a directory ${asidePrefix}… inside it`,
      );
    // Of a restore that was killed: their content is in its backup.
    for (const name of names.filter((one) => one.startsWith(stagePrefix)))
      await rm(join(directory, name), { recursive: true });
    await mkdir(stage, { recursive: true, mode: 0o700 });
    const manifest = await unpackBackup(file, stage);
    checkPlace(config, manifest);
    const hasSecrets = existsSync(join(stage, "secrets"));
    await checkKey(config, stage, hasSecrets);
    markRestored(join(stage, databaseName), manifest.created_at);
    const aside = await swap(directory, stage, existing, hasSecrets);
    return { manifest, aside };
  } catch (error) {
    await rm(stage, { recursive: true, force: true });
    if (isNew) await rm(directory, { recursive: true, force: true });
    throw error;
  } finally {
    release();
  }
}

/** One directory can be changed as a whole; several places cannot. */
function checkLayout({ dataDirectory, databaseFile, artifactsDirectory, s3 }: ServerConfig): void {
  if (databaseFile !== join(dataDirectory, databaseName))
    throw new ConfigError(
      "WINDLASS_DATABASE_URL is set, but a restore writes the database to the data directory: unset it, restore, then move the database",
    );
  if (s3 === undefined && artifactsDirectory !== join(dataDirectory, "blobs"))
    throw new ConfigError(
      "WINDLASS_ARTIFACTS_URL is set, but a restore writes the blobs to the data directory: unset it, restore, then move the blobs",
    );
}

/** The blobs of a backup are in it, or stayed in a bucket; the server must look for them there. */
function checkPlace({ s3 }: ServerConfig, { blobs }: Manifest): void {
  const bucket = s3 && s3Address(s3);
  if (blobs === bucket) return;
  throw new ConfigError(
    blobs === undefined
      ? `WINDLASS_ARTIFACTS_URL is ${bucket}, but the backup contains the files: unset it, restore, copy the content of the directory "blobs" to the bucket, then set it again`
      : `the files of the backup are in ${blobs}: set WINDLASS_ARTIFACTS_URL to it`,
  );
}

/** Servers and other commands must not use the data: they would continue with the old database. */
function holdAll(config: ServerConfig): Release {
  const release = holdDirectory(config.dataDirectory);
  const end = existsSync(config.databaseFile) ? lockDatabase(config.databaseFile) : () => undefined;
  if (end)
    return () => {
      end();
      release();
    };
  release();
  throw new Error(
    `another command uses ${config.databaseFile}: wait until it has ended, then restore`,
  );
}

/** Most data could not be read without the key that sealed it, so it is checked first. */
async function checkKey(config: ServerConfig, stage: string, hasSecrets: boolean): Promise<void> {
  const places = [...(hasSecrets ? [stage] : []), config.dataDirectory];
  const kept = places.map((place) => join(place, "secrets", keyName)).find(existsSync);
  const key = config.secretKey ?? (kept === undefined ? undefined : await readFile(kept, "utf8"));
  if (key === undefined)
    throw new ConfigError(
      `the backup does not contain ${keyName}: set it to the key of the server that was backed up`,
    );
  if (await opensBackup([key, ...config.olderSecretKeys], stage)) return;
  throw new ConfigError(
    config.secretKey === undefined
      ? `the key in ${kept} is not the key of the server that was backed up`
      : `${keyName} is not the key of the server that was backed up`,
  );
}

/** A backup of 0.1.0 has no check values: then one of its blobs must open. */
async function opensBackup(keys: SecretKeys, stage: string): Promise<boolean> {
  const snapshot = openSnapshot(join(stage, databaseName));
  const checks = snapshot.fact(secretKeyChecks);
  const [blob] = snapshot.blobs();
  snapshot.close();
  if (checks !== undefined) return opensStore(keys, checks);
  if (blob === undefined || !existsSync(join(stage, "blobs"))) return true;
  const blobs = sealedBlobs(await diskBlobs(join(stage, "blobs")), secretBox(keys, "blobs"));
  try {
    for await (const _ of await blobs.read(blob));
    return true;
  } catch {
    return false;
  }
}

/** At its next start, the server ends what the backup shows as running. */
function markRestored(database: string, created_at: string): void {
  const snapshot = openSnapshot(database);
  try {
    snapshot.setFact(restorePending, created_at);
  } finally {
    snapshot.close();
  }
}

async function swap(
  directory: string,
  stage: string,
  existing: readonly string[],
  hasSecrets: boolean,
): Promise<string | undefined> {
  const stays = (name: string) =>
    name.startsWith(asidePrefix) ||
    name === restoreMark ||
    // A backup without secrets uses those of the data directory.
    (name === "secrets" && !hasSecrets);
  const old = existing.filter((name) => !stays(name));
  const aside =
    old.length > 0
      ? join(directory, asidePrefix + new Date().toISOString().replaceAll(/[:.]/g, "-"))
      : undefined;
  await writeFile(join(directory, restoreMark), "", { mode: 0o600, flush: true });
  await flushDirectory(directory);
  if (aside !== undefined) {
    await mkdir(aside, { mode: 0o700 });
    for (const name of old) await rename(join(directory, name), join(aside, name));
  }
  await rm(join(stage, manifestName));
  for (const name of await readdir(stage)) await rename(join(stage, name), join(directory, name));
  await rm(stage, { recursive: true });
  await flushDirectory(directory);
  await rm(join(directory, restoreMark));
  await flushDirectory(directory);
  await flushDirectory(dirname(directory)).catch(() => undefined);
  return aside;
}

export { BadBackupError };
