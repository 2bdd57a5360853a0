/** The step that downloads a plan artifact, with artifacts that were changed since the PLAN job. */
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "tar";
import { expect, test } from "vitest";
import type { JobContext } from "../../../../agent/job/context.ts";
import type { PlanManifest } from "../../../../agent/job/plan/manifest.ts";
import { downloadPlan } from "../../../../agent/job/plan/artifact.ts";
import { workspaceOf } from "../../../../agent/job/workspace.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const root = folderForFile();

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const manifest: PlanManifest = {
  format: 1,
  engine: "terraform",
  engine_version: "1.11.4",
  job_id: "plan-job",
  spec_id: "spec",
  source: { type: "inline", digest: "d" },
  plan_sha256: sha256("the plan"),
  lock_sha256: sha256("the lock"),
};
const options = { destroy: true, refresh_only: false, targets: [], replace: [] };
const files = {
  "manifest.json": JSON.stringify(manifest),
  tfplan: "the plan",
  ".terraform.lock.hcl": "the lock",
};

let count = 0;
/** Runs the step on an artifact of these files, for a job with these fields. */
async function download(content: Record<string, string | undefined>, fields: object = {}) {
  const place = join(root, String(++count));
  const packed = join(place, "packed.tar.gz");
  const from = join(place, "from");
  mkdirSync(from, { recursive: true });
  const names = Object.keys(content).filter((name) => content[name] !== undefined);
  for (const name of names) writeFileSync(join(from, name), content[name] ?? "");
  if (names.length > 0) await create({ file: packed, gzip: true, cwd: from }, names);
  const claim = {
    job: {
      id: "deploy-job",
      job_type: "DEPLOY",
      attempt: 1,
      plan_job_id: "plan-job",
      spec_id: "spec",
      zone_id: null,
      config_snapshot: {},
      ...fields,
    },
  } as JobContext["claim"];
  const workspace = workspaceOf(place, claim);
  for (const folder of [workspace.artifact, workspace.temporary])
    mkdirSync(folder, { recursive: true });
  const api = {
    downloadPlan: async (file: string) => {
      if (names.length > 0) copyFileSync(packed, file);
      return names.length > 0;
    },
  } as unknown as JobContext["api"];
  const facts = await downloadPlan.run({
    claim,
    workspace,
    api,
    stop: new AbortController().signal,
  } as JobContext);
  return { facts, unpacked: readdirSync(workspace.artifact).toSorted() };
}

test("an artifact that matches the job is unpacked, and its manifest returned", async () => {
  expect(await download(files)).toEqual({
    facts: { manifest },
    unpacked: [".terraform.lock.hcl", "manifest.json", "tfplan"],
  });
});

test("an artifact of a plan with the options of the job is accepted", async () => {
  const destroying = { ...manifest, options };
  const content = { ...files, "manifest.json": JSON.stringify(destroying) };
  const { facts } = await download(content, { plan_options: options });
  expect(facts.manifest).toEqual(destroying);
});

test("an artifact without a lock file is accepted if its manifest has none", async () => {
  const lockless = { ...manifest, lock_sha256: null };
  const { facts } = await download({
    "manifest.json": JSON.stringify(lockless),
    tfplan: "the plan",
  });
  expect(facts.manifest).toEqual(lockless);
});

test.each<[string, Record<string, string | undefined>, object, RegExp]>([
  ["a changed plan", { ...files, tfplan: "another plan" }, {}, /the plan file was changed/],
  [
    "a changed lock file",
    { ...files, ".terraform.lock.hcl": "x" },
    {},
    /the lock file was changed/,
  ],
  [
    "a missing lock file",
    { ...files, ".terraform.lock.hcl": undefined },
    {},
    /the lock file was changed/,
  ],
  [
    "an added lock file",
    { ...files, "manifest.json": JSON.stringify({ ...manifest, lock_sha256: null }) },
    {},
    /the lock file was changed/,
  ],
  ["no plan", { ...files, tfplan: undefined }, {}, /it has no plan file/],
  ["no manifest", { ...files, "manifest.json": undefined }, {}, /no readable manifest/],
  ["a broken manifest", { ...files, "manifest.json": "{" }, {}, /no readable manifest/],
  [
    "a manifest without its fields",
    { ...files, "manifest.json": "{}" },
    {},
    /manifest has an unknown format/,
  ],
  [
    "a file that is not expected in it",
    { ...files, "evil.tf": "x" },
    {},
    /"evil.tf" is not expected in it/,
  ],
  ["another configuration", files, { spec_id: "other" }, /made for another configuration/],
  ["another plan job", files, { plan_job_id: "other" }, /it belongs to another job/],
  [
    "another engine",
    files,
    { config_snapshot: { engine: "opentofu" } },
    /made with terraform, not opentofu/,
  ],
  ["other options", files, { plan_options: { destroy: true } }, /made with other options/],
  [
    "options that the job does not have",
    { ...files, "manifest.json": JSON.stringify({ ...manifest, options }) },
    {},
    /made with other options/,
  ],
  ["no artifact for a named plan", {}, {}, /no longer exists/],
])("an artifact with %s is refused", async (_, content, fields, message) => {
  await expect(download(content, fields)).rejects.toThrow(message);
});

test("a deployment without a plan job downloads no artifact", async () => {
  expect((await download(files, { plan_job_id: null })).facts).toEqual({ manifest: null });
  expect((await download({}, { plan_job_id: undefined, attempt: undefined })).facts).toEqual({
    manifest: null,
  });
});
