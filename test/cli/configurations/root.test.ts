import { homedir } from "node:os";
import { join, relative } from "node:path";
import { expect, it } from "vitest";
import { findRoot, pathIn } from "../../../cli/configurations/root.ts";
import { scratch } from "../../helpers/agent/agent-process.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";

const module = (source: string) => `module "m" {\n  source = "${source}"\n}\n`;

it.each<[name: string, files: Record<string, string>, root: string, path: string]>([
  ["no modules", { "live/net/main.tf": "" }, "live/net", ""],
  [
    "a module beside",
    { "live/net/main.tf": module("../../modules/vpc"), "modules/vpc/main.tf": "" },
    "",
    "live/net",
  ],
  [
    "a module inside that uses one outside",
    {
      "live/net/main.tf": module("./inner"),
      "live/net/inner/main.tf": module("../../shared"),
      "live/shared/main.tf": "",
    },
    "live",
    "net",
  ],
  [
    "a module in JSON",
    {
      "live/net/main.tf.json": '{"module":{"m":[{"source":"../../modules/vpc"}]}}',
      "modules/vpc/main.tf": "",
    },
    "",
    "live/net",
  ],
  [
    "a module in one line, and two that use each other",
    {
      "live/net/main.tf": 'module "m" { source = "../a" }',
      "live/a/main.tf": module("../b"),
      "live/b/main.tf": module("../a"),
    },
    "live",
    "net",
  ],
  [
    "a module that is commented out, one that is missing, and one from a registry",
    {
      "live/net/main.tf": `# ${module("x").split("\n")[1]}\n# source = "../../modules/vpc"\n${module("../gone")}${module("acme/vpc/aws")}`,
      "modules/vpc/main.tf": "",
    },
    "live/net",
    "",
  ],
  [
    "files of a directory beside it",
    {
      "live/net/main.tf": 'locals {\n  a = fileset("${path.module}/../../shared", "*.json")\n}\n',
      "shared/a.json": "{}",
    },
    "",
    "live/net",
  ],
  [
    "files of a directory beside it, in a local value",
    {
      "live/net/main.tf":
        'locals {\n  dir = "${path.module}/../shared"\n  a = fileset(local.dir, "*.json")\n}\n',
      "live/shared/a.json": "{}",
    },
    "live",
    "net",
  ],
  [
    "a file whose name is not known, named by a module",
    {
      "live/net/main.tf": module("./inner"),
      "live/net/inner/main.tf":
        'locals { a = jsondecode(file("${path.module}/../../env/app-${var.name}.json")) }',
      "live/env/app-a.json": "{}",
    },
    "live",
    "net",
  ],
  [
    "files that a block comment or the text of a heredoc names",
    {
      "live/net/main.tf":
        '/* a = file("../../a.txt")\n*/\nlocals {\n  b = "bucket/*"\n  c = <<-EOT\n    file("../../a.txt")\n    EOT\n  d = "*/5"\n  e = <<EOT\n${file("../e.txt")}\nEOT\n}\n',
      "a.txt": "",
      "live/e.txt": "",
    },
    "live",
    "net",
  ],
  [
    "files that are commented out, missing or inside",
    {
      "live/net/main.tf":
        'locals {\n  # a = file("../a.txt")\n  b = fileexists("../gone.txt")\n  c = file("${path.root}/x/../c.txt")\n}\n',
      "live/a.txt": "",
      "live/net/c.txt": "",
    },
    "live/net",
    "",
  ],
])("finds the directory for %s", (_, files, root, path) => {
  using place = scratch();
  writeFiles(place.path, files);
  const directory = join(place.path, "live/net");
  const found = findRoot(directory);
  expect(found).toBe(join(place.path, root));
  expect(pathIn(found, directory)).toBe(path);
});

it("refuses to upload the home directory", () => {
  using place = scratch();
  writeFiles(place.path, { "main.tf": module(relative(place.path, homedir())) });
  expect(() => findRoot(place.path)).toThrow(/Move them closer to it/);
});
