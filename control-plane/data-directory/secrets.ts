import { randomBytes } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory, readIfExists } from "../../common/files.ts";
import { ConfigError } from "../../common/settings/config-error.ts";

/** Generates it if missing. Concurrent processes get the same one: only one can make the link. */
export async function keptSecret(directory: string, name: string): Promise<string> {
  const file = join(directory, name);
  const existing = findSecret(directory, name);
  if (existing !== undefined) return existing;
  makeDirectory(directory, 0o700);
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  await writeFile(draft, randomBytes(48).toString("base64url"), { mode: 0o600, flush: true });
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft);
  }
  return checked(file, await readFile(file, "utf8"));
}

/** Reads `<directory>/<name>`; undefined if it does not exist. */
export function findSecret(directory: string, name: string): string | undefined {
  const file = join(directory, name);
  const existing = readIfExists(file);
  return existing === undefined ? undefined : checked(file, existing);
}

/** Refuses an empty or truncated file: with such a secret, anyone could sign tokens. */
function checked(file: string, secret: string): string {
  if (Buffer.byteLength(secret) >= 32) return secret;
  throw new ConfigError(`${file} is damaged: it has fewer than 32 bytes`);
}
