/** Workers whose runner never started. */
import { expect, test } from "vitest";
import type { Worker, WorkerIdentity } from "../../../protocol/workers.ts";
import { setRows } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("a worker that never started is listed as such, and shown with the command that starts it", async () => {
  await using ada = await userMachine(plane);
  const made = await ada.json<WorkerIdentity>("workers", "create", "new");
  const { worker_id: id } = made;
  const before = await ada.run("workers", "list");
  expect(before.stdout).toMatch(/^new +REGISTERED /m);
  expect(before.stderr).toBe("");
  await setRows(plane, "workers", { offline_at: Date.now() }, { id });

  const list = await ada.run("workers", "list");
  expect(list.stdout).toMatch(/^new +NEVER STARTED /m);
  expect(list.stderr).toContain(
    "To see how to start the runner of a worker that never started: windlass workers show NAME",
  );
  const shown = await ada.run("workers", "show", "new");
  expect(shown.stdout).toMatch(/^status +NEVER STARTED$/m);
  expect(shown.stdout).toMatch(/^seen +never$/m);
  expect(shown.stderr).toContain(`  WINDLASS_URL=${plane.url} WINDLASS_WORKER_ID=${id} \\\n`);
  expect(shown.stderr).toContain(`windlass workers rotate-token ${id}`);
  expect((await ada.json<Worker>("workers", "show", "new")).status).toBe("OFFLINE");

  await ada.json("workers", "create", "new");
  const several = await ada.run("workers", "show", "new");
  expect(several.stderr).toContain(`  ${id}  new, NEVER STARTED`);
  expect(several.stderr).toContain("  new, REGISTERED, never seen");

  await setRows(plane, "workers", { last_heartbeat_at: Date.now() }, { id });
  const seen = await ada.run("workers", "show", id);
  expect(seen.stdout).toMatch(/^status +OFFLINE$/m);
  expect(seen.stderr).toBe("");
});
