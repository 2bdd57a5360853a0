/**
 * The keys that encrypt at rest. The store has a check value for each key that may have sealed
 * something in it, so that a lost or wrong key is noticed at the start instead of failing every
 * job.
 */
import { join } from "node:path";
import { ConfigError } from "../../common/settings/config-error.ts";
import type { ServerConfig } from "../config.ts";
import { secretBox, type SecretKeys } from "../domain/secret-box.ts";
import { holdsSealed, opensWith } from "../domain/snapshot.ts";
import { findSecret, keptSecret } from "./secrets.ts";
import type { Queries, Store } from "../store/db.ts";
import { findFact, secretKeyChecks, setFact } from "../store/facts.ts";
import { findSealedDefinitions, type SealedDefinition } from "../store/storage/sealed.ts";

const keyName = "WINDLASS_SECRET_KEY";
const purpose = "key-check";
const about = "windlass";

/** Generates the first key of a new store. Throws ConfigError for a lost or wrong key. */
export async function openSecretKeys(config: ServerConfig, store: Store): Promise<SecretKeys> {
  const directory = join(config.dataDirectory, "secrets");
  const found = config.secretKey ?? findSecret(directory, keyName);
  const given = [...(found === undefined ? [] : [found]), ...config.olderSecretKeys];
  const checks = parseChecks(await findFact(store.read, secretKeyChecks));
  const isRight = checks.length > 0 ? opensAll(given, checks) : await opensSample(given, store);
  if (!isRight) throw wrongKey(config, directory, found);
  // Only now: a key generated next to data that needs another one would hide the loss.
  const current = found ?? (await keptSecret(directory, keyName));
  const missing = !opensAny([current], checks);
  if (missing) await store.write((tx) => saveChecks(tx, [...checks, sealCheck(current)]));
  return [current, ...config.olderSecretKeys];
}

/** Called after everything was sealed again: from now on only the current key is needed. */
export const keepOnlyCurrent = (tx: Queries, [current]: SecretKeys): Promise<void> =>
  saveChecks(tx, [sealCheck(current)]);

/** Whether these keys open everything in a store with these check values. */
export const opensStore = (keys: readonly string[], fact: string): boolean =>
  opensAll(keys, parseChecks(fact));

const parseChecks = (fact = "[]"): string[] => JSON.parse(fact) as string[];

const saveChecks = (tx: Queries, checks: readonly string[]): Promise<void> =>
  setFact(tx, secretKeyChecks, JSON.stringify(checks));

/** A value that only this key opens. */
export const sealCheck = (key: string): string =>
  secretBox([key], purpose).seal(Buffer.from(about), about).toString("base64url");

const opensAll = (keys: readonly string[], checks: readonly string[]): boolean =>
  checks.every((check) => opensAny(keys, [check]));

/** Whether one of these keys opens one of these values. */
export const opensAny = (keys: readonly string[], checks: readonly string[]): boolean =>
  keys.some((key) =>
    checks.some((check) => {
      try {
        secretBox([key], purpose).open(Buffer.from(check, "base64url"), about);
        return true;
      } catch {
        return false;
      }
    }),
  );

/** A store of 0.1.0 has no check values: one sealed value must open, unless there is none. */
async function opensSample(keys: readonly string[], store: Store): Promise<boolean> {
  const sample = await findSample(store.read);
  return (
    sample === undefined ||
    keys.some((key) => opensWith(sample.text, secretBox([key], "variables"), sample.about))
  );
}

async function findSample(queries: Queries): Promise<SealedDefinition | undefined> {
  // Not of workers: a definition is only a part of their metadata.
  for (const table of ["specs", "variable_sets", "job_snapshots", "definitions"] as const) {
    let after = "";
    for (;;) {
      const [row] = await findSealedDefinitions(queries, table, after, 1);
      if (!row) break;
      // A variable may be called "sealed".
      if (holdsSealed(row.text)) return row;
      after = row.id;
    }
  }
  return undefined;
}

function wrongKey(config: ServerConfig, directory: string, found: string | undefined): ConfigError {
  const file = join(directory, keyName);
  const place =
    config.secretKey !== undefined
      ? keyName
      : found !== undefined
        ? `the key in ${file}`
        : undefined;
  return new ConfigError(
    place === undefined
      ? `the data is encrypted and its key is missing: there is no ${file}, and ${keyName} is not set. Put the file back (a backup made by "windlass server backup" contains it), or set ${keyName} to the key`
      : `${place} is not the key that the data is encrypted with. Set ${keyName} to the right key; after a change of the key, set ${keyName}_OLD to the previous key`,
  );
}
