import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { execa } from "execa";
import { keptSecret } from "../../../control-plane/data-directory/secrets.ts";
import { root } from "../../helpers/project/source-files.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";

let directory: string;
folderForEachTest((path) => {
  directory = join(path, "secrets");
});

test("a secret is generated once, kept and readable by its owner only", async () => {
  const secret = await keptSecret(directory, "KEY");
  expect(secret).toMatch(/^[\w-]{64}$/);
  expect(await keptSecret(directory, "KEY")).toBe(secret);
  expect(await keptSecret(directory, "OTHER")).not.toBe(secret);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect((await stat(join(directory, "KEY"))).mode & 0o777).toBe(0o600);
});

test("processes that start together agree on one secret and leave no other file", async () => {
  const program = `
    const { keptSecret } = await import(${JSON.stringify(join(root, "control-plane/data-directory/secrets.ts"))});
    process.stdout.write(await keptSecret(process.argv[1], "KEY"));`;
  const runs = await Promise.all(
    Array.from({ length: 6 }, () =>
      execa(process.execPath, ["--input-type=module", "-e", program, directory]),
    ),
  );
  expect(new Set(runs.map(({ stdout }) => stdout)).size).toBe(1);
  expect(await readdir(directory)).toEqual(["KEY"]);
});

test("a damaged secret stops the start, because an empty one would let any caller sign tokens", async () => {
  await keptSecret(directory, "KEY");
  await writeFile(join(directory, "KEY"), "");
  await expect(keptSecret(directory, "KEY")).rejects.toThrow(
    `${join(directory, "KEY")} is damaged`,
  );
});
