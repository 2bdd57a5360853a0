/** The teardown of a worker that may have nothing to destroy. */
import { expect, test } from "vitest";
import type { WorkerIdentity } from "../../../protocol/workers.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("a teardown is announced once it is accepted; a refusal names the client's command", async () => {
  await using ada = await userMachine(plane);
  const { worker_id: id } = await ada.json<WorkerIdentity>("workers", "create", "old");
  await ada.user.configure({ name: "network" });
  const destroy = ["jobs", "destroy-worker", "old", "--yes"];
  const refused = await ada.run(...destroy);
  expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
  expect(refused.stderr).toBe(
    `windlass: The worker has no deploy configuration, which says what to destroy: set one first. Run: windlass workers update ${id} --deploy-configuration CONFIGURATION`,
  );
  await ada.json("workers", "update", id, "--deploy-configuration", "network");
  const queued = await ada.run(...destroy);
  expect(queued).toMatchObject({ exitCode: 0 });
  expect(queued.stderr).toMatch(/^Tearing down the worker "old": destroy .*\nQueued\./);
});
