import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { create, Header } from "tar";
import { describe, expect, test } from "vitest";
import { unpack, unpackSource } from "../../../../agent/job/source/archive.ts";
import { StepFailedError } from "../../../../agent/job/context.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const root = folderForFile();

let count = 0;
const place = (bytes: Buffer): { file: string; folder: string; outside: string } => {
  const outside = join(root, `case-${++count}`);
  const folder = join(outside, "a/b/folder");
  mkdirSync(folder, { recursive: true });
  const file = join(root, `${count}.tar.gz`);
  writeFileSync(file, bytes);
  return { file, folder, outside };
};
const limits = { entries: 100, bytes: 1_000_000 };

interface Entry {
  readonly path: string;
  readonly type?: string;
  readonly content?: string;
  readonly mode?: number;
}

/** Encodes an archive. archive-escapes.test.ts has the hostile ones. */
function archive(...entries: Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, type = "File", content = "", mode = 0o644 }) => {
    const header = new Header({
      path,
      type,
      size: content.length,
      mode,
      mtime: new Date(0),
    } as never);
    const block = Buffer.alloc(512);
    header.encode(block, 0);
    const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
    return [block, Buffer.from(content), padding];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

describe("unpack refuses a file and writes nothing if it has", () => {
  test.each([
    ["no gzip data", Buffer.from("a raw plan file")],
    ["truncated gzip data", archive({ path: "a", content: "x".repeat(5000) }).subarray(0, 40)],
    ["no bytes", Buffer.alloc(0)],
    ["gzip data that is not an archive", gzipSync("x".repeat(2000))],
  ])("%s", async (_, bytes) => {
    const { file, folder } = place(bytes);
    await expect(unpack(file, folder, limits, "source")).rejects.toThrow(StepFailedError);
    expect(readdirSync(folder)).toEqual([]);
  });
});

test("unpack writes files and directories, and keeps only the executable bit of their modes", async () => {
  const { file, folder } = place(
    archive(
      { path: "./", type: "Directory" },
      { path: "./main.tf", content: "# main", mode: 0o777 & ~0o111 },
      { path: "modules/", type: "Directory", mode: 0 },
      { path: "modules/run.sh", content: "#!/bin/sh", mode: 0o6755 },
    ),
  );
  await unpack(file, folder, limits, "source");
  expect(readFileSync(join(folder, "main.tf"), "utf8")).toBe("# main");
  expect(statSync(join(folder, "main.tf")).mode & 0o7777).toBe(0o600);
  expect(statSync(join(folder, "modules/run.sh")).mode & 0o7777).toBe(0o700);
  expect(statSync(join(folder, "modules")).mode & 0o7777).toBe(0o700);
});

test("unpack reads an archive with long names from tar", async () => {
  const from = join(root, "from");
  mkdirSync(join(from, "x".repeat(90), "y".repeat(90)), { recursive: true });
  writeFileSync(join(from, "x".repeat(90), "y".repeat(90), "long.tf"), "# long");
  const packed = join(root, "packed.tar.gz");
  await create({ file: packed, gzip: true, cwd: from }, ["."]);
  const { folder } = place(Buffer.alloc(0));
  await unpack(packed, folder, limits, "source");
  expect(readdirSync(folder, { recursive: true })).toContain(
    join("x".repeat(90), "y".repeat(90), "long.tf"),
  );
});

test("unpackSource checks the digest before it reads the archive", async () => {
  const bytes = archive({ path: "main.tf", content: "# main" });
  const { file, folder } = place(bytes);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  await expect(unpackSource(file, "0".repeat(64), folder)).rejects.toThrow(
    /the archive is damaged/,
  );
  expect(await unpackSource(file, sha256, folder)).toEqual({ type: "archive", digest: sha256 });
});

test("unpack does not follow a link that exists in the directory", async () => {
  const { file, folder, outside } = place(archive({ path: "link/pwned", content: "x" }));
  symlinkSync(outside, join(folder, "link"));
  await unpack(file, folder, limits, "source").catch(() => undefined);
  expect(existsSync(join(outside, "pwned"))).toBe(false);
});

test("unpack says why it refuses an archive of zeros, and what to leave out", async () => {
  const { file, folder } = place(archive({ path: "disk.img", content: "\0".repeat(20_000_000) }));
  const wide = { entries: 100, bytes: 100_000_000 };
  await expect(unpack(file, folder, wide, "source")).rejects.toThrow(
    /^source: the archive is refused: it is more than 1,000 times larger .*\.windlassignore/,
  );
  expect(readdirSync(folder)).toEqual([]);
});
