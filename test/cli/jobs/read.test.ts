import { expect, test } from "vitest";
import { jobsCommand } from "../../../cli/commands/jobs.ts";
import { list } from "../../../cli/jobs/read.ts";
import type { Run } from "../../../cli/run.ts";
import type { Job } from "../../../protocol/jobs.ts";
import { clientApiOf } from "../../helpers/cli/client-api.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();

test("jobs are listed by the status that texts name, too", async () => {
  const user = await openSampleUser(plane);
  let listed: readonly Job[] = [];
  const run = {
    api: await clientApiOf(plane, user.owner),
    list: (items: readonly Job[]) => {
      listed = items;
    },
  } as unknown as Run;
  const configuration_id = await user.configure("network");
  const succeeded = await user.run({ job_type: "PLAN", configuration_id }, "SUCCESS");
  const running = await user.begin({ job_type: "PLAN", configuration_id });
  const option = jobsCommand()
    .commands.find((verb) => verb.name() === "list")
    ?.options.find((one) => one.long === "--status");
  const idsOf = async (word: string): Promise<string[]> => {
    const status = option?.parseArg?.(word, undefined) as unknown as string;
    await list(run, { status, limit: "20" });
    return listed.map(({ id }) => id);
  };

  for (const word of ["RUNNING", "running", "PROCESSING"])
    expect([word, await idsOf(word)]).toEqual([word, [running]]);
  for (const word of ["Succeeded", "success"])
    expect([word, await idsOf(word)]).toEqual([word, [succeeded]]);
});
