import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { currentKey } from "../../control-plane/services/issuer/keys.ts";
import { ask } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { bin } from "../helpers/cli/windlass.ts";

const { plane } = planeForFile();
const place = folderForFile();

const issuer = (...words: string[]) =>
  windlass(["server", "issuer", ...words], { env: { WINDLASS_DATA_DIR: plane.directory } });
const kids = async () => {
  const { keys } = (await ask(plane, "GET", "/.well-known/jwks.json")).json() as {
    keys?: { kid: string }[];
  };
  return (keys ?? []).map(({ kid }) => kid);
};

describe("windlass server issuer", () => {
  test("makes the first key, which signs, and then publishes one more beside the running server", async () => {
    const first = await issuer("rotate");
    expect(first).toMatchObject({ exitCode: 0, stderr: "" });
    const [kid = ""] = await kids();
    expect(first.stdout).toBe(`The issuer has its first key, ${kid}, and signs with it.`);
    // Of several at one time, one makes the key.
    const said = await Promise.all([issuer("rotate"), issuer("rotate"), issuer("rotate")]);
    expect(said.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    const published = await kids();
    expect(published).toHaveLength(2);
    for (const { stdout } of said) expect(stdout).toContain(`: ${published[1]}\n`);
    expect((await currentKey(plane.context)).kid).toBe(kid);
    expect((await issuer("rotate")).stdout).toMatch(/^A new key is published already: /);
  });

  test("killed at any moment, leaves whole keys and lets the next command go on", async () => {
    for (const milliseconds of [100, 300, 500, 700]) {
      const env = { WINDLASS_DATA_DIR: plane.directory };
      const options = { env, reject: false, timeout: milliseconds, killSignal: "SIGKILL" } as const;
      await execa(bin, ["server", "issuer", "rotate"], options);
      expect(await kids()).toHaveLength(2);
    }
    expect((await issuer("rotate")).exitCode).toBe(0);
  });

  test("writes what the server publishes as files that everyone may read", async () => {
    const directory = join(place, "public");
    const { exitCode, stdout } = await issuer("export", directory);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/Serve both below http:\/\/127\.0\.0\.1:\d+\/ as application\/json/);
    for (const name of [".well-known/openid-configuration", ".well-known/jwks.json"]) {
      const path = join(directory, name);
      expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(
        (await ask(plane, "GET", `/${name}`)).json(),
      );
      expect(statSync(path).mode & 0o777).toBe(0o644);
    }
    // Again, over the files of before.
    expect(await issuer("export", directory)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(directory, ".well-known/jwks.json"), "utf8")).not.toContain('"d"');
  });

  test("drops a key that has leaked, at once, and signs with another one", async () => {
    const [first = "", second = ""] = await kids();
    const asked = await issuer("drop", "--", first);
    expect([asked.exitCode, asked.stderr]).toEqual([2, expect.stringContaining("with --yes")]);
    expect(asked.stdout).toContain("Running jobs");
    expect(await kids()).toEqual([first, second]);
    const dropped = await issuer("drop", "--yes", "--", first);
    expect(dropped).toMatchObject({ exitCode: 0, stderr: "" });
    expect(dropped.stdout).toContain(`The key ${second} signs from now on.`);
    expect(await kids()).toEqual([second]);
    // The last one: another is made.
    expect(await issuer("drop", "--yes", "--", second)).toMatchObject({ exitCode: 0 });
    const [third] = await kids();
    expect([first, second]).not.toContain(third);
    expect((await currentKey(plane.context)).kid).toBe(third);
    const unknown = await issuer("drop", "--yes", "--", first);
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      1,
      expect.stringContaining(`has no key ${first}. It has: ${third}`),
    ]);
  });

  test.each([
    [[]],
    [["drop"]],
    [["turn"]],
    [["export"]],
    [["rotate", "now"]],
    [["export", "a", "b"]],
  ])("refuses %j with 2", async (words) => {
    const { exitCode, stdout, stderr } = await issuer(...words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/windlass server issuer/);
  });
});
