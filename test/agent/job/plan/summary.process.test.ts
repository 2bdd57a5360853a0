/** Summaries of real plans, as `terraform show -json` writes them. */
import { execFileSync } from "node:child_process";
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { Check } from "typebox/value";
import { expect, test } from "vitest";
import { readPlan } from "../../../../agent/job/plan/json.ts";
import { secrecyOf } from "../../../../common/redaction/secrecy.ts";
import { planListLimit, planSummaryLimit } from "../../../../protocol/limits.ts";
import { PlanSummary } from "../../../../protocol/plan-summary.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const root = folderForFile();

const before = `
variable "secret" {
  sensitive = true
  default   = "planted-secret-1"
}
resource "terraform_data" "replaced" {
  input            = "x"
  triggers_replace = [var.secret]
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "each" {
  for_each = toset(["a", "b"])
  input    = each.key
}
resource "terraform_data" "updated" { input = var.secret }
resource "terraform_data" "old" {}
resource "terraform_data" "forgotten" {}
output "secret" {
  value     = var.secret
  sensitive = true
}
module "inner" {
  source = "./inner"
  input  = terraform_data.updated.id
}
output "plain" { value = "one" }
output "pools" { value = { fixed = 1, size = 2, known = "one planted-known-1" } }
`;

const after = `${before
  .replace("planted-secret-1", "planted-secret-2")
  .replace('"a", "b"', '"a", "c"')
  .replace('"old"', '"new"')
  .replace('resource "terraform_data" "forgotten" {}', "")
  .replace('"one"', '"two"')
  .replace('size = 2, known = "one', 'size = 3, known = "two')}
resource "terraform_data" "follows" { input = [module.inner.id, terraform_data.replaced.id] }
output "id" { value = terraform_data.replaced.id }
moved {
  from = terraform_data.old
  to   = terraform_data.new
}
removed {
  from = terraform_data.forgotten
  lifecycle { destroy = false }
}
check "later" {
  assert {
    condition     = terraform_data.replaced.output == "x"
    error_message = "not x"
  }
}
`;

/** The module, before and after. */
const inner = [
  'variable "input" {}\noutput "id" { value = 1 }\n',
  'variable "input" {}\nresource "terraform_data" "own" { input = var.input }\noutput "id" { value = terraform_data.own.id }\n',
] as const;

const unmasked = secrecyOf([]);
const env = { PATH: process.env["PATH"] ?? "", CHECKPOINT_DISABLE: "1", HOME: root };
const terraform = (...args: string[]) => execFileSync("terraform", args, { cwd: root, env });

const unknown = true;
const sensitive = true;

test("a summary has action, reason and changes of each resource, and nothing that is sensitive", async () => {
  const main = join(root, "main.tf");
  const module = join(root, "inner", "main.tf");
  mkdirSync(join(root, "inner"));
  writeFileSync(main, before);
  writeFileSync(module, inner[0]);
  terraform("init", "-input=false");
  terraform("apply", "-input=false", "-auto-approve");
  writeFileSync(main, after);
  writeFileSync(module, inner[1]);
  terraform("plan", "-input=false", "-out=plan");
  const shown = join(root, "plan.json");
  writeFileSync(shown, terraform("show", "-json", "plan"));

  const { errored, summary } = await readPlan(shown, secrecyOf(["planted-known-1"]));
  expect(errored).toBe(false);
  expect(summary).toEqual({
    counts: { create: 3, update: 1, replace: 1, delete: 1, forget: 1, move: 1, import: 0 },
    changes: [
      {
        address: 'terraform_data.each["b"]',
        action: "delete",
        reason: "delete_because_each_key",
        attributes: [
          { path: "id", before: expect.any(String), after: null },
          { path: "input", before: "b", after: null },
          { path: "output", before: "b", after: null },
        ],
      },
      {
        address: "terraform_data.replaced",
        action: "replace",
        reason: "replace_because_cannot_update",
        created_first: true,
        replaced_by: ["triggers_replace"],
        attributes: [
          { path: "id", before: expect.any(String), unknown },
          { path: "output", before: "x", unknown },
          { path: "triggers_replace[0]", sensitive },
        ],
      },
      {
        address: 'terraform_data.each["c"]',
        action: "create",
        attributes: [
          { path: "id", unknown },
          { path: "input", after: "c" },
          { path: "output", unknown },
        ],
      },
      expect.objectContaining({ address: "terraform_data.follows", action: "create" }),
      expect.objectContaining({ address: "terraform_data.forgotten", action: "forget" }),
      {
        address: "terraform_data.new",
        action: "none",
        previous_address: "terraform_data.old",
      },
      {
        address: "terraform_data.updated",
        action: "update",
        attributes: [
          { path: "input", sensitive },
          { path: "output", sensitive, unknown },
        ],
      },
      expect.objectContaining({ address: "module.inner.terraform_data.own", action: "create" }),
    ],
    changes_omitted: 0,
    drift: [],
    drift_omitted: 0,
    outputs: [
      {
        name: "id",
        action: "create",
        sensitive: false,
        attributes: [{ path: "", unknown }],
      },
      {
        name: "plain",
        action: "update",
        sensitive: false,
        attributes: [{ path: "", before: "one", after: "two" }],
      },
      {
        name: "pools",
        action: "update",
        sensitive: true,
        attributes: [
          { path: "known", sensitive },
          { path: "size", before: 2, after: 3 },
        ],
      },
      { name: "secret", action: "update", sensitive: true },
    ],
    outputs_omitted: 0,
    checks: [{ address: "check.later", status: "unknown" }],
    has_checks: true,
    graph: [
      {
        address: "terraform_data.follows",
        needs: ["module.inner.terraform_data.own", "terraform_data.replaced"],
      },
      { address: "module.inner.terraform_data.own", needs: ["terraform_data.updated"] },
    ],
    applyable: true,
    complete: true,
  });
  expect(Check(PlanSummary, summary)).toBe(true);
  expect(JSON.stringify(summary)).not.toContain("planted");
});

test("a plan without changes is not applyable", async () => {
  const shown = join(root, "empty.json");
  writeFileSync(shown, '{"format_version":"1.2","resource_changes":[]}');
  const { summary } = await readPlan(shown, unmasked);
  expect(summary).toMatchObject({ changes: [], applyable: false, complete: true });
});

test("the summary of a huge plan is bounded, counts every change and lists every deletion", async () => {
  const shown = join(root, "huge.json");
  const file = createWriteStream(shown);
  const [creates, deletes] = [40_000, 50];
  const name = (at: number) => `module.${"deep".repeat(60)}.terraform_data.x[${at}]`;
  file.write('{"resource_changes":[');
  for (let at = 0; at < creates + deletes; at++) {
    const actions = at < creates ? ["create"] : ["delete"];
    const text = JSON.stringify({ address: name(at), change: { actions } });
    if (!file.write(`${at ? "," : ""}${text}`)) await once(file, "drain");
  }
  file.end("]}");
  await once(file, "close");
  const { summary } = await readPlan(shown, unmasked);
  expect(summary.counts).toMatchObject({ create: creates, delete: deletes });
  expect(summary.changes.length + summary.changes_omitted).toBe(creates + deletes);
  expect(summary.changes.length).toBeLessThanOrEqual(planListLimit);
  expect(summary.changes.filter(({ action }) => action === "delete")).toHaveLength(deletes);
  expect(JSON.stringify(summary).length).toBeLessThanOrEqual(planSummaryLimit);
  expect(Check(PlanSummary, summary)).toBe(true);
});

test("a secret in an address is masked, and an address over 1024 characters is cut", async () => {
  const shown = join(root, "odd.json");
  const change = { actions: ["create"] };
  const resource_changes = [
    { address: 'x["hunter22"]', change },
    { address: "y".repeat(5000), change },
  ];
  writeFileSync(shown, JSON.stringify({ resource_changes }));
  const { summary } = await readPlan(shown, secrecyOf(["hunter22"]));
  expect(summary.changes[0]?.address).toBe('x["***"]');
  expect(summary.changes[1]?.address).toMatch(/^y{1023}…$/);
});
