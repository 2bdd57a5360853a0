import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskBlobs } from "../../../control-plane/blobs/disk.ts";
import { inPieces } from "../../helpers/machine/pieces.ts";
import { blobsContract } from "./contract.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";

let directory: string;
folderForEachTest((path) => {
  directory = join(path, "blobs");
});

const files = async () =>
  (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );

blobsContract(
  () => diskBlobs(directory),
  async () => (await files()).length,
);

test("stored files can be read by their owner only", async () => {
  const blobs = await diskBlobs(directory);
  await blobs.write(inPieces(Buffer.from("private")), 100);
  const entries = await readdir(directory, { recursive: true });
  const modes = await Promise.all(
    [".", ...entries].map(async (entry) => (await stat(join(directory, entry))).mode & 0o777),
  );
  expect(new Set(modes)).toEqual(new Set([0o600, 0o700]));
});

test("unfinished files of a crash are removed at the next start, and blobs stay", async () => {
  const { blob } = await (await diskBlobs(directory)).write(inPieces(Buffer.from("kept")), 100);
  await mkdir(join(directory, "unfinished"), { recursive: true });
  await writeFile(join(directory, "unfinished", "0123"), "half of somethi");
  await diskBlobs(directory);
  expect((await files()).map(({ name }) => name)).toEqual([blob.slice(2)]);
});

test("an invalid blob name reads no file", async () => {
  const blobs = await diskBlobs(directory);
  await expect(blobs.read("../../../etc/passwd")).rejects.toThrow("not the name of a blob");
});
