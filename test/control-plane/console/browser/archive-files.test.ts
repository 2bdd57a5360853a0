import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { create } from "tar";
import { expect, test } from "vitest";
// @ts-expect-error: the scripts of the pages have their own tsconfig.
import { terraformDirectories as untyped } from "../../../../control-plane/console/browser/archive-files.js";
import { scratch } from "../../../helpers/agent/agent-process.ts";

const terraformDirectories = untyped as (
  archive: ReadableStream,
) => Promise<Map<string, boolean> | undefined>;

async function directoriesOf(paths: readonly string[], portable = true) {
  using folder = scratch();
  for (const path of paths) {
    mkdirSync(join(folder.path, dirname(path)), { recursive: true });
    writeFileSync(join(folder.path, path), "x".repeat(path.length * 97));
  }
  const parts: Buffer[] = [];
  for await (const part of create({ cwd: folder.path, gzip: true, portable }, ["."]))
    parts.push(part);
  return await read(Buffer.concat(parts));
}

const read = async (bytes: Buffer) => {
  const found = await terraformDirectories(new Blob([new Uint8Array(bytes)]).stream());
  return found && Object.fromEntries(found);
};

const deep = `${"d".repeat(90)}/${"é".repeat(60)}/${"e".repeat(90)}`;

test.each<[string, string[], Record<string, boolean>]>([
  ["no files", [], {}],
  ["files at the top", ["main.tf", "README.md"], { ".": true }],
  ["files in directories", ["envs/prod/a.tf.json", "b/c.tf"], { "envs/prod": true, b: true }],
  ["files of OpenTofu", ["a.tofu", "b/a.tofu.json", "b/z.tf"], { ".": false, b: true }],
  ["hidden files and copies", [".a.tf", "._main.tf", "main.tf~", "x.tfvars"], {}],
  ["long names", [`${deep}/main.tf`], { [deep]: true }],
])("of an archive with %s", async (_, paths, expected) => {
  expect(await directoriesOf(paths)).toEqual(expected);
  expect(await directoriesOf(paths, false)).toEqual(expected);
});

test.each([
  ["no tar", gzipSync("x".repeat(5000))],
  ["no gzip file", Buffer.from("no")],
  ["empty", gzipSync("")],
])("nothing is known of a file that is %s", async (_, bytes) => {
  expect(await read(bytes)).toBeUndefined();
});

test("nothing is known of an archive with more entries than a runner unpacks", async () => {
  const header = Buffer.alloc(512);
  header.write("main.tf");
  header.write("00000000000", 124);
  header.write("0", 156);
  const entries = Buffer.concat(Array.from({ length: 20_002 }, () => header));
  expect(await read(gzipSync(entries))).toBeUndefined();
});
