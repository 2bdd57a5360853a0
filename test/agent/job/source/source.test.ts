/** Which jobs need terraform files in their directory. */
import { describe, expect, test } from "vitest";
import type { JobContext } from "../../../../agent/job/context.ts";
import type { Facts } from "../../../../agent/job/facts.ts";
import { writeInline } from "../../../../agent/job/source/inline.ts";
import { fetchSource } from "../../../../agent/job/source/source.ts";
import type { JobType } from "../../../../protocol/jobs.ts";
import { folderForEachTest } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";

let directory: string;
folderForEachTest((path) => {
  directory = path;
});

const files = { "readme.txt": "" };

/** Fetches a source without terraform files. `planned` are the options of a downloaded plan. */
function fetch(job_type: JobType, plan_options: object, planned?: object): Promise<Facts> {
  const workspace = newWorkspace(directory);
  const source = writeInline(files, `${directory}/planned`);
  const config_snapshot = { source: { type: "inline", files } };
  const manifest = planned && { source, options: planned };
  return fetchSource.run({
    claim: { job: { job_type, plan_options, config_snapshot } },
    workspace,
    facts: { manifest },
  } as unknown as JobContext);
}

describe("a source without terraform files", () => {
  test.each([
    ["PLAN", {}, undefined],
    ["PLAN", { refresh_only: true }, undefined],
    ["DEPLOY", {}, undefined],
    ["DEPLOY", {}, {}],
    ["DEPLOY", { destroy: true }, {}],
  ] as const)(
    "fails a %s with options %j of a plan with %j",
    async (job_type, options, planned) => {
      await expect(fetch(job_type, options, planned)).rejects.toThrow(
        /^source: it has no terraform files \(\*\.tf, \*\.tf\.json\), so terraform would destroy /,
      );
    },
  );

  test.each([
    ["PLAN", { destroy: true }, undefined],
    ["DEPLOY", {}, { destroy: true }],
    ["DESTROY", {}, undefined],
    ["DESTROY_WORKER", {}, undefined],
  ] as const)(
    "is accepted by a %s with options %j of a plan with %j",
    async (job_type, options, planned) => {
      expect(await fetch(job_type, options, planned)).toMatchObject({ locked: false });
    },
  );
});
