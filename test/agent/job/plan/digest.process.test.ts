/** Digests of real plans, and of the files that they were made of. */
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobContext } from "../../../../agent/job/context.ts";
import { readPlan } from "../../../../agent/job/plan/json.ts";
import { fetchGit } from "../../../../agent/job/source/git.ts";
import { sourceDigest } from "../../../../agent/job/source/source-digest.ts";
import { secrecyOf } from "../../../../common/redaction/secrecy.ts";
import { realTerraform } from "../../../helpers/agent/terraform.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";

const root = realpathSync(folderForFile());
const program = realTerraform();
const env = { PATH: process.env["PATH"] ?? "", CHECKPOINT_DISABLE: "1", HOME: root };

const main = `
variable "secret" {
  sensitive = true
}
variable "size" { type = number }
resource "terraform_data" "one" {
  input = { where = path.cwd, secret = var.secret, size = var.size }
}
resource "terraform_data" "many" {
  for_each = toset(["c", "a", "b"])
  input    = each.key
  provisioner "local-exec" { command = "true" }
}
module "inner" { source = "./inner" }
output "secret" {
  value     = var.secret
  sensitive = true
}
output "size" { value = var.size }
`;

async function summaryOf(name: string, secret: string, size: string) {
  const folder = join(root, name);
  mkdirSync(join(folder, "inner"), { recursive: true });
  writeFileSync(join(folder, "main.tf"), main);
  writeFileSync(join(folder, "inner/main.tf"), 'output "x" { value = 1 }\n');
  const run = (...args: string[]) => execFileSync(program, args, { cwd: folder, env });
  run("init", "-input=false");
  run("plan", "-out=plan", `-var=secret=${secret}`, `-var=size=${size}`);
  writeFileSync(join(folder, "plan.json"), run("show", "-json", "plan"));
  const request = { key: Buffer.alloc(32, 1), workspace: folder, folder: "." };
  return (await readPlan(join(folder, "plan.json"), secrecyOf([]), [], request)).summary;
}

test("the same change has the same digest in another workspace, and another one if a value differs", async () => {
  const first = await summaryOf("first", "planted-1", "10000000000000000001");
  expect(first).toMatchObject({
    digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    has_unknown: true,
    has_provisioners: true,
    local_modules: ["inner"],
  });
  const again = await summaryOf("second", "planted-1", "10000000000000000001");
  expect(again.digest).toBe(first.digest);
  const { digest: secret } = await summaryOf("third", "planted-2", "10000000000000000001");
  const { digest: number } = await summaryOf("fourth", "planted-1", "10000000000000000002");
  expect(new Set([first.digest, secret, number]).size).toBe(3);
});

test("the digest of a source changes with its directory, its local modules and the lock file", async () => {
  const origin = join(root, "origin");
  mkdirSync(origin);
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", origin, "-c", "user.name=x", "-c", "user.email=x@x", ...args]);
  git("init", "--quiet", "--initial-branch=main");
  const settings = { path: env.PATH, network: {}, gitAccess: [], sourceBytes: 1024 ** 3 };
  const lock = join(root, "lock.hcl");
  const digestWith = async (path: string, text: string, directories = ["app", "shared"]) => {
    mkdirSync(join(origin, path, ".."), { recursive: true });
    writeFileSync(join(origin, path), text);
    git("add", ".");
    git("commit", "--quiet", "-m", "change");
    const workspace = newWorkspace(join(root, "work"));
    const wish = { url: `file://${origin}`, treesFolder: workspace.root };
    const { signal } = new AbortController();
    const source = await fetchGit(wish, workspace, settings, signal, "file");
    const context = { directory: workspace.root, facts: { source }, workspace };
    return sourceDigest(context as unknown as JobContext, lock, directories);
  };
  await digestWith("app/main.tf", "");
  const first = await digestWith("shared/main.tf", "");
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  expect(await digestWith("other/main.tf", "")).toBe(first);
  const all = new Set([first]);
  all.add(await digestWith("app/main.tf", "# new"));
  all.add(await digestWith("shared/deep/main.tf", ""));
  writeFileSync(lock, "locked");
  all.add(await digestWith("other/main.tf", "# new"));
  all.add(await digestWith("other/main.tf", "# newer", ["app", "."]));
  expect(all.size).toBe(5);
  expect(await digestWith("other/main.tf", "# newest", ["app", "missing"])).toBeUndefined();
});
