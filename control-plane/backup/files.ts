/** Digests of the files of a backup, and making them durable. */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { ticking } from "../../common/every.ts";
import { second } from "../../common/units.ts";

/** Returns size and SHA-256 of a file. With `flush`, the file is durable afterwards. */
export async function digestOf(
  path: string,
  flush = false,
): Promise<{ size_bytes: number; sha256: string }> {
  await using file = await open(path, "r");
  const digest = createHash("sha256");
  let size_bytes = 0;
  for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: 262_144 })) {
    digest.update(chunk as Buffer);
    size_bytes += (chunk as Buffer).length;
  }
  if (flush) await file.sync();
  return { size_bytes, sha256: digest.digest("hex") };
}

/** Makes the entries of a directory durable. */
export async function flushDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}

/** Reports progress on stderr, once a second and only after the first second. */
export async function withProgress<T>(
  what: string,
  total: () => number,
  work: (step: (count?: number) => void) => Promise<T>,
  unit: "files" | "rows" = "files",
): Promise<T> {
  let done = 0;
  let isShown = false;
  const end = ticking(second, () => {
    isShown = true;
    process.stderr.write(`${what}: ${done} of ${total()} ${unit}\n`);
  });
  try {
    const result = await work((count = 1) => void (done += count));
    if (isShown) process.stderr.write(`${what}: done\n`);
    return result;
  } finally {
    end();
  }
}

export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${(count / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
