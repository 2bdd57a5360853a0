import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isUnmakeable, makeDirectory } from "../../common/files.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const folder = folderForFile();

const errorOf = (path: string): unknown => {
  try {
    return makeDirectory(path);
  } catch (error) {
    return error;
  }
};

describe("makeDirectory", () => {
  it("makes what is missing with the mode, and returns the first directory that it made", () => {
    const first = join(folder, "a");
    expect(makeDirectory(join(first, "b/c"), 0o700)).toBe(first);
    for (const path of [first, join(first, "b"), join(first, "b/c")])
      expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(makeDirectory(join(first, "b/c"))).toBeUndefined();
    expect(makeDirectory("/")).toBeUndefined();
  });

  it("follows a link to a directory", () => {
    mkdirSync(join(folder, "target"));
    symlinkSync("target", join(folder, "link"));
    expect(makeDirectory(join(folder, "link"))).toBeUndefined();
    expect(makeDirectory(join(folder, "link/in"))).toBe(join(folder, "link/in"));
  });

  it.each(["/proc/foo", "/proc/foo/bar", "/dev/null", "/dev/null/a/b"])(
    "ends for %s, with an error of the file system",
    (path) => expect(isUnmakeable(errorOf(path))).toBe(true),
  );

  it("refuses a file in place of a directory, and a link to nothing", () => {
    writeFileSync(join(folder, "file"), "");
    symlinkSync("nothing", join(folder, "dangling"));
    for (const path of ["file", "file/a", "dangling", "dangling/a"])
      expect(isUnmakeable(errorOf(join(folder, path)))).toBe(true);
  });
});

describe("isUnmakeable", () => {
  it("is false for other errors, such as a file that does not exist", () => {
    const missing = Object.assign(new Error("no"), { code: "ENOENT", syscall: "open" });
    const full = Object.assign(new Error("no"), { code: "ENOSPC", syscall: "mkdir" });
    expect([missing, full, new Error("no"), undefined].map(isUnmakeable)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});
