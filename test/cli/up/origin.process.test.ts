import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hereText, readOrigins, remoteText, writeLink } from "../../../cli/up/origin.ts";
import { scratch } from "../../helpers/agent/agent-process.ts";

describe("the origin of a git remote", () => {
  it.each([
    ["https://git.example.com/acme/infra.git", "git.example.com/acme/infra"],
    ["https://ada:s3cret@GIT.example.com/acme/infra/", "git.example.com/acme/infra"],
    ["ssh://git@git.example.com/acme/infra", "git.example.com/acme/infra"],
    ["git@git.example.com:acme/infra.git", "git.example.com/acme/infra"],
    ["git.example.com:/acme/infra.git", "git.example.com/acme/infra"],
    ["https://git.example.com:8443/acme/infra", "git.example.com:8443/acme/infra"],
    ["/srv/git/infra.git", undefined],
    ["../infra", undefined],
    ["file:///srv/git/infra.git", undefined],
    ["C:\\git\\infra", undefined],
    ["https://git.example.com", undefined],
  ])("of %s is %s", (remote, origin) => {
    expect(remoteText(remote)).toBe(origin);
  });
});

describe("the origin of a directory", () => {
  it("is the git remote with the path, the same in every checkout", async () => {
    using place = scratch();
    const origins = [];
    for (const [checkout, remote] of [
      ["a", "git@git.example.com:acme/infra.git"],
      ["b", "https://token:s3cret@git.example.com/acme/infra"],
    ] as const) {
      const top = join(place.path, checkout);
      mkdirSync(join(top, "net work"), { recursive: true });
      execFileSync("git", ["init", "-q", top]);
      execFileSync("git", ["-C", top, "remote", "add", "origin", remote]);
      origins.push(await readOrigins(top), await readOrigins(join(top, "net work")));
    }
    const [whole, part] = [
      ["git.example.com/acme/infra"],
      ["git.example.com/acme/infra//net%20work"],
    ];
    expect(origins).toEqual([whole, part, whole, part]);
  });

  it("is found through a link into the checkout and in a linked worktree", async () => {
    using place = scratch();
    const [top, link, worktree] = ["top", "link", "worktree"].map((name) => join(place.path, name));
    execFileSync("git", ["init", "-q", top!]);
    execFileSync("git", ["-C", top!, "remote", "add", "origin", "git@git.example.com:acme/infra"]);
    const author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    execFileSync("git", ["-C", top!, ...author, "commit", "-q", "--allow-empty", "-m", "first"]);
    execFileSync("git", ["-C", top!, "worktree", "add", "-q", worktree!]);
    mkdirSync(join(top!, "net"));
    symlinkSync(join(top!, "net"), link!);
    expect(await readOrigins(link!)).toEqual(["git.example.com/acme/infra//net"]);
    expect(await readOrigins(worktree!)).toEqual(["git.example.com/acme/infra"]);
    expect(await readOrigins(join(place.path, "missing"))).toEqual([]);
  });

  it("is an id in the directory without a remote, and stays known beside a later remote", async () => {
    using place = scratch();
    const { path } = place;
    expect(await readOrigins(path)).toEqual([]);
    expect(existsSync(join(path, ".windlass"))).toBe(false);
    const id = writeLink(path);
    expect(JSON.parse(readFileSync(join(path, ".windlass/link.json"), "utf8"))).toEqual({
      origin: id,
    });
    execFileSync("git", ["init", "-q", path]);
    expect(await readOrigins(path)).toEqual([id]);
    // Another command was faster.
    expect(writeLink(path)).toBe(id);
    execFileSync("git", ["-C", path, "remote", "add", "origin", "https://git.example.com/a/b"]);
    expect(await readOrigins(path)).toEqual(["git.example.com/a/b", id]);
    expect(hereText([id!])).toBe("this directory");
    expect(hereText(["git.example.com/a/b", id!])).toBe("this directory (git.example.com/a/b)");
  });

  it("is refused from a damaged link, and unknown where no link can be written", async () => {
    using place = scratch();
    writeFileSync(join(place.path, ".windlass"), "a file");
    expect(writeLink(place.path)).toBeUndefined();
    using other = scratch();
    mkdirSync(join(other.path, ".windlass"));
    writeFileSync(join(other.path, ".windlass/link.json"), "{}");
    await expect(readOrigins(other.path)).rejects.toThrow("is damaged. Remove it.");
  });
});
