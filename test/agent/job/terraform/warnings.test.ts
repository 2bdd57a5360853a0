import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobContext } from "../../../../agent/job/context.ts";
import { warningsOf } from "../../../../agent/job/terraform/warnings.ts";
import { folderForEachTest } from "../../../helpers/machine/folders.ts";

let directory: string;
folderForEachTest((path) => {
  directory = path;
});

const frame = (summary: string, ...rest: string[]): string =>
  ["╷", `│ Warning: ${summary}`, "│ ", ...rest.map((line) => `│ ${line}`), "╵", ""].join("\n");

/** The warnings of a job whose commands have printed this; without a text, nothing is kept. */
function warningsIn(
  runs: Readonly<Record<string, { logged: boolean; text?: string }>>,
  jobToken = "job-token",
) {
  const entries = Object.entries(runs).map(([run, { logged, text }]) => {
    mkdirSync(join(directory, "runs", run), { recursive: true });
    if (text !== undefined) writeFileSync(join(directory, "runs", run, "stdout"), text);
    return { at: "run", run, logged, boot: null };
  });
  return warningsOf({
    directory,
    journal: { entries },
    workspace: { root: "/w/job", variables: "/w/job/job.tfvars.json" },
    claim: { job: { id: "job", job_token: jobToken, config_snapshot: {} } },
    settings: { gitAccess: [], network: {}, workerToken: "wlw_token", sealKey: "key" },
  } as unknown as JobContext);
}

test("the warnings of all commands of a job are reported once, without secrets and paths of the runner", async () => {
  const check = frame("Check block assertion failed", "  on main.tf line 12, in check:", "", "No.");
  const values = [
    "  on /w/job/job.tfvars.json line 1:",
    "",
    'A value was found in file "/w/job/job.tfvars.json",',
    "with the-secret.",
  ];
  expect(
    await warningsIn(
      {
        "01-init": { logged: true },
        "02-plan": { logged: true, text: `x\n${check}y\n${frame("Undeclared.", ...values)}` },
        "03-show": { logged: false, text: frame("not for users") },
        "04-apply": { logged: true, text: check },
      },
      "the-secret",
    ),
  ).toEqual([
    {
      summary: "Check block assertion failed",
      detail: "No.",
      file: "main.tf",
      line: 12,
    },
    {
      summary: "Undeclared",
      detail: 'A value was found in file "job.tfvars.json", with ***.',
    },
  ]);
});

test("what is reported of warnings is bounded", async () => {
  const many = Array.from({ length: 60 }, (_, n) =>
    frame(`${n} ${"s ".repeat(400)}`, "d".repeat(9000)),
  );
  const flood = `${"x".repeat(1000)}\n`.repeat(2000) + many.join("");
  const warnings = await warningsIn({ "02-plan": { logged: true, text: flood } });
  expect(warnings).toHaveLength(20);
  for (const { summary, detail = "" } of warnings)
    expect([summary.length, detail.length]).toEqual([300, 600]);
});
