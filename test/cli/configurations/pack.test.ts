/** Packing a directory as an archive, reproducibly. */
import { linkSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { list } from "tar";
import { describe, expect, test } from "vitest";
import { packDirectory } from "../../../cli/configurations/pack.ts";
import { scratch } from "../../helpers/agent/agent-process.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";

describe("packing a directory", () => {
  test("returns the same bytes for the same files, whatever their order and times", async () => {
    using place = scratch();
    const files = { "main.tf": "a", "modules/b/main.tf": "b", "@odd": "c" };
    const one = writeFiles(join(place.path, "one"), files);
    const two = writeFiles(
      join(place.path, "two"),
      Object.fromEntries(Object.entries(files).toReversed()),
    );
    utimesSync(join(two, "main.tf"), 1, 1);
    const [first, second] = [await packDirectory(one), await packDirectory(two)];
    expect(first.bytes.equals(second.bytes)).toBe(true);
    const paths: string[] = [];
    list({ sync: true, onReadEntry: ({ path }) => paths.push(path) }).end(first.bytes);
    expect(paths.map((path) => path.replace("./", "")).toSorted()).toEqual(
      Object.keys(files).toSorted(),
    );
    writeFileSync(join(two, "main.tf"), "A");
    expect((await packDirectory(two)).sha256).not.toBe(first.sha256);
  });

  test("leaves out what .gitignore files exclude, at every depth, and honours negated patterns", async () => {
    using place = scratch();
    const directory = writeFiles(place.path, {
      "main.tf": "",
      ".gitignore": "*.log\n/build/\n!keep.log\n",
      "a.log": "",
      "keep.log": "",
      "build/x": "",
      "sub/build/y": "",
      "sub/.gitignore": "secret.txt\n",
      "sub/secret.txt": "",
      "secret.txt": "",
      ".windlassignore": "docs/\n",
      "docs/a.md": "",
    });
    const { files, skipped } = await packDirectory(directory);
    expect(files.filter((file) => !file.includes("ignore"))).toEqual([
      "keep.log",
      "main.tf",
      "secret.txt",
      "sub/build/y",
    ]);
    expect(skipped).toEqual(["a.log", "build/", "docs/", "sub/secret.txt"]);
  });

  test("leaves out .terraform, states, plans and keys unless .windlassignore includes them", async () => {
    using place = scratch();
    const secrets = [
      ".env",
      ".env.local",
      ".git/config",
      ".terraform/modules/modules.json",
      "a.tfplan",
      "deep/down/terraform.tfstate",
      "id_rsa",
      "node_modules/x/index.js",
      "server.pem",
      "terraform.tfstate",
      "terraform.tfstate.backup",
    ];
    const all = Object.fromEntries(
      [...secrets, "main.tf", ".terraform.lock.hcl"].map((path) => [path, ""]),
    );
    const directory = writeFiles(place.path, all);
    expect((await packDirectory(directory)).files).toEqual([".terraform.lock.hcl", "main.tf"]);
    writeFileSync(join(directory, ".gitignore"), "!terraform.tfstate\n!.env\n");
    expect((await packDirectory(directory)).skipped).toContain("terraform.tfstate");
    writeFileSync(join(directory, ".windlassignore"), "!server.pem\n");
    expect((await packDirectory(directory)).files).toContain("server.pem");
  });

  test("follows the rules of the directories above, up to the top of the git checkout", async () => {
    using place = scratch();
    writeFiles(place.path, {
      ".gitignore": "*.tf\n",
      "top/.git/HEAD": "",
      "top/.gitignore": "*.auto.tfvars\n/live/net/local.tf\n/built/\n",
      "top/.windlassignore": "*.md\n",
      "top/live/.gitignore": "!kept.auto.tfvars\n",
      "top/live/net/main.tf": "",
      "top/live/net/local.tf": "",
      "top/live/net/readme.md": "",
      "top/live/net/s.auto.tfvars": "",
      "top/live/net/kept.auto.tfvars": "",
      "top/built/main.tf": "",
      "top/built/s.auto.tfvars": "",
    });
    const { files, skipped } = await packDirectory(join(place.path, "top/live/net"));
    expect(files).toEqual(["kept.auto.tfvars", "main.tf"]);
    expect(skipped).toEqual(["local.tf", "readme.md", "s.auto.tfvars"]);
    // A directory that is excluded itself is packed all the same, because it was named.
    const built = await packDirectory(join(place.path, "top/built"));
    expect(built.files).toEqual(["main.tf", "s.auto.tfvars"]);
  });

  test("refuses symbolic links, and an archive over the limit, naming the largest files", async () => {
    using place = scratch();
    const directory = writeFiles(place.path, {
      "main.tf": "",
      "blob.bin": randomBytes(53_000_000),
    });
    await expect(packDirectory(directory)).rejects.toThrow(
      /more than the limit of 50\.0 MiB.*\n +50\.5 MiB {2}blob\.bin/s,
    );
    writeFileSync(join(directory, ".windlassignore"), "*.bin\n");
    symlinkSync("/etc", join(directory, "link"));
    await expect(packDirectory(directory)).rejects.toThrow(
      /link is a symbolic link, which a runner refuses/,
    );
    writeFileSync(join(directory, ".gitignore"), "link\nprod.tfvars\n");
    symlinkSync("main.tf", join(directory, "prod.tfvars"));
    await expect(packDirectory(directory, ["prod.tfvars"])).rejects.toThrow(
      /prod\.tfvars is a symbolic link, which a runner refuses/,
    );
  });

  test("packs hard links as files, because a runner refuses links", async () => {
    using place = scratch();
    const directory = writeFiles(place.path, { "main.tf": "text", ".gitignore": "" });
    linkSync(join(directory, "main.tf"), join(directory, "same.tf"));
    const { bytes } = await packDirectory(directory);
    const entries: string[] = [];
    list({ sync: true, onReadEntry: ({ path, type }) => entries.push(`${path} ${type}`) }).end(
      bytes,
    );
    expect(entries.toSorted()).toEqual([".gitignore File", "main.tf File", "same.tf File"]);
  });

  test("refuses a name with a backslash, and more files and directories than a runner unpacks", async () => {
    using place = scratch();
    const directory = writeFiles(place.path, { "main.tf": "", "a\\b": "" });
    await expect(packDirectory(directory)).rejects.toThrow(
      /a\\b has a backslash in its name, which a runner refuses/,
    );
    writeFileSync(join(directory, ".windlassignore"), "a\\\\b\n");
    // With main.tf and .windlassignore 20,000 files; their directory is one too many.
    writeFiles(directory, { "d/f": "" });
    for (let n = 1; n < 19_998; n++) linkSync(join(directory, "d/f"), join(directory, `d/f${n}`));
    await expect(packDirectory(directory)).rejects.toThrow(
      /has 20001 files and directories, more than 20000/,
    );
  });

  test("names a file whose name is not UTF-8, until it is excluded", async () => {
    using place = scratch();
    const directory = writeFiles(place.path, { "main.tf": "" });
    const file = Buffer.concat([
      Buffer.from(`${directory}/bad`),
      Buffer.of(0xff),
      Buffer.from("x"),
    ]);
    writeFileSync(file, "");
    await expect(packDirectory(directory)).rejects.toThrow(
      /^".*bad\uFFFDx" cannot be packed: its name is not UTF-8\. Rename it, or exclude it/,
    );
    writeFileSync(join(directory, ".windlassignore"), "bad*\n");
    expect((await packDirectory(directory)).files).toContain("main.tf");
  });
});
