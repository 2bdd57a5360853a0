/** `windlass jobs retry` of a job that destroys. */
import { expect, test } from "vitest";
import type { Job } from "../../../protocol/jobs.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("without a terminal, a destruction is repeated only with --yes", async () => {
  await using ada = await userMachine(plane);
  await ada.user.configure({ name: "network" });
  const { id } = await ada.json<Job>("jobs", "destroy", "network", "--yes");
  await ada.json("jobs", "cancel", id);
  const refused = await ada.run("jobs", "retry", id);
  expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
  expect(refused.stderr).toBe(
    `windlass: Retry the destruction of "network" (job ${id})? It destroys without a plan. Not a terminal, so the question cannot be asked. Pass --yes to confirm.`,
  );
  expect(await ada.json<Job[]>("jobs", "list")).toHaveLength(1);
  expect(await ada.json<Job>("jobs", "retry", id, "--yes")).toMatchObject({
    job_type: "DESTROY",
    status: "QUEUED",
  });
});
