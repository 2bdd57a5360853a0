import { expect, test } from "vitest";
import { hour } from "../../../common/units.ts";
import { scratch, until } from "../../helpers/agent/agent-process.ts";
import { clientHeaders, setRows } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../helpers/plane/sample-data.ts";
import { openTerminal } from "../../helpers/machine/terminal.ts";

const { plane } = planeForFile();

test("a client that follows a job late counts the time from the start of the job", async () => {
  const runner = await openSampleUser(plane);
  const configuration_id = await runner.configure("network");
  const id = await runner.begin({ job_type: "DEPLOY", configuration_id });
  // The job waited for an hour, and runs for two.
  const now = Date.now();
  const times = { created_at: now - 3 * hour, started_at: now - 2 * hour };
  await setRows(plane, "jobs", times, { id });
  const { authorization } = await clientHeaders(plane, runner.owner);
  using place = scratch();
  await using terminal = openTerminal(["jobs", "logs", id, "--follow"], {
    WINDLASS_URL: plane.url,
    WINDLASS_TOKEN: authorization.replace("Bearer ", ""),
    WINDLASS_CONFIG_DIR: place.path,
  });
  await until(() => /deployment of "network" · \d+/.test(terminal.screen()));
  const counted = () => terminal.screen().match(/(?<=deployment of "network" · )\d+\w/g) ?? [];
  await until(() => counted().length > 2);
  expect(new Set(counted())).toEqual(new Set(["2h"]));
  await runner.end(id, "SUCCESS");
  expect(await terminal.exited).toBe(0);
});
