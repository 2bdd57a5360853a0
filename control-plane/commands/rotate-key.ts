/** `windlass server rotate-key`: seals everything again under the current key, on a stopped server. */
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { progress } from "../backup/files.ts";
import { refuseHalfRestored } from "../data-directory/restore-mark.ts";
import type { Blobs } from "../blobs/blobs.ts";
import { diskBlobs } from "../blobs/disk.ts";
import { sealedBlobs } from "../blobs/sealed.ts";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../config.ts";
import { holdData } from "../data-directory/lock.ts";
import { secretBox, type SecretKeys } from "../domain/secret-box.ts";
import { reseal } from "../domain/snapshot.ts";
import { keepOnlyCurrent, openSecretKeys } from "../data-directory/secret-keys.ts";
import { resealTokens } from "../services/people/accounts.ts";
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
import { openSqlite } from "../store/engines/sqlite.ts";

const usage = `Usage: windlass server rotate-key

Encrypts everything that is encrypted at rest again, under a new key. Stop the
server, make a backup, then run this with

  WINDLASS_SECRET_KEY      the new key; not set: one is made and kept in the
                           data directory
  WINDLASS_SECRET_KEY_OLD  the keys before it, separated by commas

It may be interrupted and run again. Afterwards the new key alone is enough,
but keep the old ones set until the jobs that ran meanwhile have ended: their
runners hold tokens made with it.

Example:
  WINDLASS_SECRET_KEY_FILE=new.key WINDLASS_SECRET_KEY_OLD_FILE=old.key \\
    windlass server rotate-key
`;

/** The command's entry. Throws `ConfigError` for what the operator must set right. */
export async function rotateKey(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { help: { type: "boolean", short: "h" } } });
  if (values.help) return void process.stdout.write(usage);
  const config = readConfig();
  if (config.olderSecretKeys.length === 0)
    throw new ConfigError(
      "set WINDLASS_SECRET_KEY_OLD to the key that the data is encrypted with now, and WINDLASS_SECRET_KEY to the new one",
    );
  if (!existsSync(config.databaseFile))
    throw new ConfigError(
      `there is no data store at ${config.databaseFile}; set WINDLASS_DATA_DIR to the server's directory`,
    );
  refuseHalfRestored(config.dataDirectory);
  const release = holdData(config);
  try {
    const store = await openSqlite(config.databaseFile);
    try {
      const keys = await openSecretKeys(config, store);
      const [current, ...older] = keys;
      if (older.includes(current))
        throw new ConfigError(
          "the new key is an old one: set WINDLASS_SECRET_KEY to another, or move secrets/WINDLASS_SECRET_KEY aside, out of the data directory, and leave it unset",
        );
      const inner = await diskBlobs(config.artifactsDirectory);
      const { values: sealed, files, unreadable } = await resealAll(store, inner, keys);
      await store.write((tx) => keepOnlyCurrent(tx, keys));
      process.stdout.write(
        `${sealed} values and ${files} files are encrypted under the new key; start the server\n`,
      );
      if (unreadable > 0)
        process.stderr.write(
          `${unreadable} could not be read with any of the keys, and are left as they were\n`,
        );
    } finally {
      await store.close();
    }
  } finally {
    release();
  }
}

interface Resealed {
  values: number;
  files: number;
  unreadable: number;
}

const rowsPerWrite = 100;

/** What the current key opens already is left alone: a second run goes on where the first was interrupted. */
async function resealAll(store: Store, inner: Blobs, keys: SecretKeys): Promise<Resealed> {
  const done: Resealed = { values: 0, files: 0, unreadable: 0 };
  for (const table of sealedTables) {
    let after = "";
    for (;;) {
      const page = await findSealedDefinitions(store.read, table, after, rowsPerWrite);
      await store.write(async (tx) => {
        for (const row of page) {
          const { text, unreadable } =
            table === "workers" ? resealMetadata(row, keys) : reseal(row.text, keys, row.id);
          done.unreadable += unreadable;
          if (text !== row.text) {
            await saveSealedDefinition(tx, { ...row, text });
            done.values += 1;
          }
        }
      });
      if (page.length < rowsPerWrite) break;
      after = page.at(-1)?.id ?? after;
    }
  }
  done.values += await store.write(async (tx) => {
    await resealHashKey(tx, keys);
    return resealTokens(tx, keys);
  });
  await resealBlobs(store, inner, keys, done);
  return done;
}

/** What a worker was deployed with is in its metadata. */
function resealMetadata(
  { id, text }: SealedDefinition,
  keys: SecretKeys,
): ReturnType<typeof reseal> {
  const metadata = JSON.parse(text) as { deploy_configuration?: { snapshot?: unknown } };
  const { snapshot } = metadata.deploy_configuration ?? {};
  if (snapshot === undefined) return { text, unreadable: 0 };
  const before = JSON.stringify(snapshot);
  const { text: after, unreadable } = reseal(before, keys, id);
  if (after === before) return { text, unreadable };
  const deploy_configuration = {
    ...metadata.deploy_configuration,
    snapshot: JSON.parse(after) as unknown,
  };
  return { text: JSON.stringify({ ...metadata, deploy_configuration }), unreadable };
}

/** Each is written to a new blob, then its rows name that one: after a crash both are there, and the one without a row is removed later. */
async function resealBlobs(
  store: Store,
  inner: Blobs,
  keys: SecretKeys,
  done: Resealed,
): Promise<void> {
  const current = sealedBlobs(inner, secretBox([keys[0]], "blobs"));
  const any = sealedBlobs(inner, secretBox(keys, "blobs"));
  const names = await findNamedBlobs(store.read);
  const shown = progress("encrypting", () => names.length);
  try {
    for (const name of names) {
      shown.step();
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
  } finally {
    shown.end();
  }
}

/** Whether the beginning of a blob can be read. */
async function opens(blobs: Blobs, name: string): Promise<boolean> {
  try {
    for await (const _ of await blobs.read(name)) break;
    return true;
  } catch {
    return false;
  }
}
