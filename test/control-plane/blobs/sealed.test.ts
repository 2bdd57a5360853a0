import { randomBytes } from "node:crypto";
import { readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { diskBlobs } from "../../../control-plane/blobs/disk.ts";
import { sealedBlobs } from "../../../control-plane/blobs/sealed.ts";
import { secretBox } from "../../../control-plane/domain/secret-box.ts";
import { inPieces } from "../../helpers/machine/pieces.ts";
import { blobsContract } from "./contract.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";

let directory: string;
folderForEachTest((path) => {
  directory = path;
});

const open = async () =>
  sealedBlobs(
    await diskBlobs(directory),
    secretBox(["a key that is long enough, at least here"], "blobs"),
  );

const files = async () =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

blobsContract(open, async () => (await files()).length);

test("no content is stored in clear", async () => {
  const blobs = await open();
  await blobs.write(inPieces(Buffer.from("S3NSITIVE-MARKER ".repeat(10_000))), 1_000_000);
  const [file] = await files();
  expect((await readFile(file!)).includes("S3NSITIVE-MARKER")).toBe(false);
});

const spoil: [string, (file: string, other: string) => Promise<void>][] = [
  [
    "a changed byte",
    async (file) => {
      const content = await readFile(file);
      content[content.length - 100]! ^= 1;
      await writeFile(file, content);
    },
  ],
  ["a truncated end", (file) => truncate(file, 16 + 65_565)],
  [
    "two swapped pieces",
    async (file) => {
      const content = await readFile(file);
      const [name, one, two] = [
        content.subarray(0, 16),
        content.subarray(16, 65_581),
        content.subarray(65_581, 131_146),
      ];
      await writeFile(file, Buffer.concat([name, two, one, content.subarray(131_146)]));
    },
  ],
  [
    "a piece of another blob",
    async (file, other) => {
      const content = await readFile(file);
      (await readFile(other)).copy(content, 16, 16, 65_581);
      await writeFile(file, content);
    },
  ],
];
test.for(spoil)("%s is detected, and the content is not returned", async ([, change]) => {
  const blobs = await open();
  const { blob } = await blobs.write(inPieces(randomBytes(140_000)), 200_000);
  const [file] = await files();
  await blobs.write(inPieces(randomBytes(140_000)), 200_000);
  const other = (await files()).find((name) => name !== file);
  await change(file!, other!);
  await expect(blobs.read(blob).then(buffer)).rejects.toBeInstanceOf(Error);
  await expect(blobs.read(blob, { start: 0, end: 139_999 }).then(buffer)).rejects.toBeInstanceOf(
    Error,
  );
});
