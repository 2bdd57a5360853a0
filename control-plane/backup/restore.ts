/**
 * Restores a backup into the data directory. Everything is unpacked aside and checked first; only then what is there is moved aside (never
 * deleted) and the new is renamed into place. A crash in the middle of that leaves a mark, with which no server starts.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ConfigError } from "../../common/settings/config-error.ts";
import type { ServerConfig } from "../config.ts";
import { diskBlobs } from "../blobs/disk.ts";
import { sealedBlobs } from "../blobs/sealed.ts";
import { secretBox, type SecretKeys } from "../domain/secret-box.ts";
import { opensStore } from "../data-directory/secret-keys.ts";
import { restorePending, secretKeyChecks } from "../store/facts.ts";
import { holdDirectory, lockName } from "../data-directory/lock.ts";
import { holdDatabase, type Release } from "../store/engines/hold.ts";
import { openSnapshot } from "../store/storage/snapshot.ts";
import { flushDirectory } from "./files.ts";
import { databaseName, manifestName, type Manifest } from "./manifest.ts";
import { BadBackupError, unpackBackup } from "./unpack.ts";
import { restoreMark } from "../data-directory/restore-mark.ts";

export interface RestoredBackup {
  readonly manifest: Manifest;
  /** Where what was there before is now; undefined: nothing was. */
  readonly aside: string | undefined;
}

const asidePrefix = "before-restore-";
const keyName = "WINDLASS_SECRET_KEY";

/** Restores `file`. Throws, with nothing changed, when it may or can not be done. */
export async function restoreBackup(
  config: ServerConfig,
  file: string,
  force: boolean,
): Promise<RestoredBackup> {
  const directory = config.dataDirectory;
  checkLayout(config);
  const isNew = !existsSync(directory);
  const existing = isNew ? [] : (await readdir(directory)).filter((name) => name !== lockName);
  if (existing.length > 0 && !force)
    throw new Error(
      `${directory} is not empty; with --force what is there is kept in a directory ${asidePrefix}… inside it`,
    );
  const release = holdAll(config);
  const stage = join(directory, `restoring-${randomBytes(6).toString("hex")}`);
  try {
    await mkdir(stage, { recursive: true, mode: 0o700 });
    const manifest = await unpackBackup(file, stage);
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
function checkLayout({ dataDirectory, databaseFile, artifactsDirectory }: ServerConfig): void {
  if (databaseFile !== join(dataDirectory, databaseName))
    throw new ConfigError(
      "restore puts the database into the data directory: unset WINDLASS_DATABASE_URL, restore, then move it",
    );
  if (artifactsDirectory !== join(dataDirectory, "blobs"))
    throw new ConfigError(
      "restore puts the blobs into the data directory: unset WINDLASS_ARTIFACTS_URL, restore, then move them",
    );
}

/** Keeps servers out, and other commands too: one that has the database open would continue with the old one. */
function holdAll(config: ServerConfig): Release {
  const release = holdDirectory(config.dataDirectory);
  const end = existsSync(config.databaseFile) ? holdDatabase(config.databaseFile) : () => undefined;
  if (end)
    return () => {
      end();
      release();
    };
  release();
  throw new Error(`another command uses ${config.databaseFile}: wait for its end, then restore`);
}

/** Without the key that sealed it, half of what is restored could never be read: that is said now and not at the first use. */
async function checkKey(config: ServerConfig, stage: string, hasSecrets: boolean): Promise<void> {
  const places = [...(hasSecrets ? [stage] : []), config.dataDirectory];
  const kept = places.map((place) => join(place, "secrets", keyName)).find(existsSync);
  const key = config.secretKey ?? (kept === undefined ? undefined : await readFile(kept, "utf8"));
  if (key === undefined)
    throw new ConfigError(
      `the backup does not hold ${keyName}: set it as it was for the server that was backed up`,
    );
  if (await opensBackup([key, ...config.olderSecretKeys], stage)) return;
  throw new ConfigError(
    config.secretKey === undefined
      ? `the key in ${kept} is not the one of the server that was backed up`
      : `${keyName} is not the one of the server that was backed up`,
  );
}

/** A backup of an older release has no check values: then one of its blobs must open. */
async function opensBackup(keys: SecretKeys, stage: string): Promise<boolean> {
  const snapshot = openSnapshot(join(stage, databaseName));
  const checks = snapshot.fact(secretKeyChecks);
  const [blob] = snapshot.blobs();
  snapshot.close();
  if (checks !== undefined) return opensStore(keys, checks);
  if (blob === undefined) return true;
  const blobs = sealedBlobs(await diskBlobs(join(stage, "blobs")), secretBox(keys, "blobs"));
  try {
    for await (const _ of await blobs.read(blob));
    return true;
  } catch {
    return false;
  }
}

/** The server settles at its next start what happened after the backup. */
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
    // A backup without secrets goes with those that are there.
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
