/** `windlass server rotate-key`: seals all data again with the current key, on a stopped server. */
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { withProgress } from "../backup/files.ts";
import { refuseHalfMoved } from "../data-directory/move-mark.ts";
import { refuseHalfRestored } from "../data-directory/restore-mark.ts";
import type { Blobs } from "../blobs/blobs.ts";
import { openBlobs } from "../blobs/open.ts";
import { sealedBlobs } from "../blobs/sealed.ts";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../config.ts";
import { holdData } from "../data-directory/lock.ts";
import { secretBox, UnreadableError, type SecretKeys } from "../domain/secret-box.ts";
import { reseal } from "../domain/snapshot.ts";
import { keepOnlyCurrent, openSecretKeys } from "../data-directory/secret-keys.ts";
import { resealTokens } from "../services/people/accounts.ts";
import { resealSessions } from "../services/people/provider-sessions.ts";
import { resealIssuerKeys } from "../services/issuer/keys.ts";
import { resealHashKey } from "../services/configurations/config-hash.ts";
import type { Store } from "../store/db.ts";
import {
  findNamedBlobs,
  findSealedDefinitions,
  renameBlob,
  saveSealedDefinition,
  sealedTables,
  type SealedDefinition,
} from "../store/storage/sealed.ts";
import { requireSharedSecrets } from "../data-directory/shared-secrets.ts";
import type { DatabaseHold } from "../store/engines/postgres-channel.ts";
import { openSqlite } from "../store/engines/sqlite.ts";

const usage = `Usage: windlass server rotate-key

Changes the key that encrypts the server's data at rest. Stop the server, make a
backup, then run the command with

  WINDLASS_SECRET_KEY      the new key; if it is not set, a key is generated and
                           kept in the data directory, from which the file of
                           an earlier generated key must have been moved
  WINDLASS_SECRET_KEY_OLD  the earlier keys, separated by commas

If the command is interrupted, run it again. Afterwards the data needs only the
new key. Keep the earlier keys set until the jobs that were running have ended:
the tokens of these jobs were derived from the old key.

Example:
  WINDLASS_SECRET_KEY_FILE=new.key WINDLASS_SECRET_KEY_OLD_FILE=old.key \\
    windlass server rotate-key
`;

export async function rotateKey(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { help: { type: "boolean", short: "h" } } });
  if (values.help) return void process.stdout.write(usage);
  const config = readConfig();
  if (config.olderSecretKeys.length === 0)
    throw new ConfigError(
      "WINDLASS_SECRET_KEY_OLD is not set: set it to the key that the data is encrypted with now, and WINDLASS_SECRET_KEY to the new key",
    );
  if (!config.postgres && !existsSync(config.databaseFile))
    throw new ConfigError(
      `there is no database at ${config.databaseFile}; set WINDLASS_DATA_DIR to the server's data directory`,
    );
  refuseHalfRestored(config.dataDirectory);
  if (config.postgres) requireSharedSecrets(config);
  const release = holdData(config);
  const { postgres, databaseFile } = config;
  let hold: DatabaseHold | undefined;
  try {
    hold = postgres && (await holdAlone(postgres.url));
    const store = postgres
      ? await (await import("../store/engines/postgres.ts")).openPostgres(postgres)
      : await openSqlite(databaseFile);
    try {
      await refuseHalfMoved(store);
      const keys = await openSecretKeys(config, store);
      const [current, ...older] = keys;
      if (older.includes(current))
        throw new ConfigError(
          "the new key is also in WINDLASS_SECRET_KEY_OLD: set WINDLASS_SECRET_KEY to another key, or leave it unset and move the file secrets/WINDLASS_SECRET_KEY out of the data directory",
        );
      const inner = await openBlobs(config);
      const { values: sealed, files, unreadable } = await resealAll(store, inner, keys);
      // Otherwise a control plane may have started, and sealed something with an earlier key.
      await hold?.check();
      await store.write((tx) => keepOnlyCurrent(tx, keys));
      process.stdout.write(
        `${sealed} values and ${files} files are encrypted with the new key. Start the server.\n`,
      );
      if (unreadable > 0)
        process.stderr.write(
          `${unreadable} values or files could not be decrypted with any of the keys and were not changed\n`,
        );
    } finally {
      await store.close();
    }
  } finally {
    await hold?.release();
    release();
  }
}

/** Throws `ConfigError` if a control plane runs on a shared database. */
async function holdAlone(url: string): Promise<DatabaseHold> {
  const { holdDatabaseAlone } = await import("../store/engines/postgres-channel.ts");
  const hold = await holdDatabaseAlone(url);
  if (hold === undefined)
    throw new ConfigError("a control plane runs on this database: stop all of them first");
  return hold;
}

interface Resealed {
  values: number;
  files: number;
  unreadable: number;
}

const rowsPerWrite = 100;
/** One has up to 8 MiB. */
const largeRowsPerWrite = 4;

/** Skips what the current key opens, so that a second run continues an interrupted one. */
async function resealAll(store: Store, inner: Blobs, keys: SecretKeys): Promise<Resealed> {
  const done: Resealed = { values: 0, files: 0, unreadable: 0 };
  for (const table of sealedTables) {
    const rows = table === "definitions" ? largeRowsPerWrite : rowsPerWrite;
    let after = "";
    for (;;) {
      const page = await findSealedDefinitions(store.read, table, after, rows);
      await store.write(async (tx) => {
        for (const row of page) {
          const { text, unreadable } =
            table === "workers" ? resealMetadata(row, keys) : reseal(row.text, keys, row.about);
          done.unreadable += unreadable;
          if (text !== row.text) {
            await saveSealedDefinition(tx, { ...row, text });
            done.values += 1;
          }
        }
      });
      if (page.length < rows) break;
      after = page.at(-1)?.id ?? after;
    }
  }
  done.values += await store.write(async (tx) => {
    await resealHashKey(tx, keys);
    return (
      (await resealTokens(tx, keys)) +
      (await resealSessions(tx, keys)) +
      (await resealIssuerKeys(tx, keys))
    );
  });
  await resealBlobs(store, inner, keys, done);
  return done;
}

/** Seals again the secrets of a worker's deploy configuration, which is part of its metadata. */
function resealMetadata(
  { id, text }: SealedDefinition,
  keys: SecretKeys,
): ReturnType<typeof reseal> {
  const metadata = JSON.parse(text) as { deploy_configuration?: { snapshot?: unknown } };
  const { snapshot } = metadata.deploy_configuration ?? {};
  if (snapshot === undefined) return { text, unreadable: 0 };
  const before = JSON.stringify(snapshot);
  let resealed: ReturnType<typeof reseal>;
  try {
    resealed = reseal(before, keys, id);
  } catch {
    // A pipeline may write anything about a cloud-hosted worker. Not of this shape, it was never
    // sealed, and no job can use it.
    return { text, unreadable: 0 };
  }
  const { text: after, unreadable } = resealed;
  if (after === before) return { text, unreadable };
  const deploy_configuration = {
    ...metadata.deploy_configuration,
    snapshot: JSON.parse(after) as unknown,
  };
  return { text: JSON.stringify({ ...metadata, deploy_configuration }), unreadable };
}

/** A crash leaves old and new blobs; retention removes those that no row names. */
async function resealBlobs(
  store: Store,
  inner: Blobs,
  keys: SecretKeys,
  done: Resealed,
): Promise<void> {
  const current = sealedBlobs(inner, secretBox([keys[0]], "blobs"));
  const any = sealedBlobs(inner, secretBox(keys, "blobs"));
  const names = await findNamedBlobs(store.read);
  const reseal = async (step: () => void): Promise<void> => {
    for (const name of names) {
      step();
      if (await opens(current, name)) continue;
      if (!(await opens(any, name))) {
        done.unreadable += 1;
        continue;
      }
      const { blob } = await any.write(await any.read(name), Infinity);
      await store.write((tx) => renameBlob(tx, name, blob));
      await inner.delete(name);
      done.files += 1;
    }
  };
  await withProgress("encrypting", () => names.length, reseal);
}

/** Throws if a disk or bucket fails: its blobs must not count as sealed with a lost key. */
async function opens(blobs: Blobs, name: string): Promise<boolean> {
  try {
    for await (const _ of await blobs.read(name)) break;
    return true;
  } catch (error) {
    if (error instanceof UnreadableError) return false;
    throw error;
  }
}
