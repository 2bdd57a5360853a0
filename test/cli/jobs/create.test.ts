import { expect, test } from "vitest";
import { openApi } from "../../../cli/api/api.ts";
import { cancel } from "../../../cli/jobs/create.ts";
import type { Run } from "../../../cli/run.ts";
import { clientHeaders, setRows } from "../../helpers/plane.ts";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { openSampleUser } from "../../helpers/sample-data.ts";

const { plane } = planeForFile();

test("a cancel says whether the runner stops terraform", async () => {
  const user = await openSampleUser(plane);
  const { authorization = "" } = await clientHeaders(plane, user.owner);
  const settings = { url: plane.url, token: authorization.replace("Bearer ", ""), directory: "/n" };
  const api = openApi({ settings, server: undefined, profile: undefined });
  const said: string[] = [];
  const run = { api, done: (text: string) => void said.push(text), show: () => undefined };
  const configuration_id = await user.configure("network");
  const says = async (id: string) => {
    await cancel(run as unknown as Run, id, {});
    return said.at(-1);
  };
  const { id: queued } = await user.queue({ job_type: "DEPLOY", configuration_id });
  expect(await says(queued)).toBe('The deployment of "network" is cancelled.');

  await user.queue({ job_type: "DEPLOY", configuration_id });
  const id = await user.start();
  expect(await says(id)).toBe(
    'The deployment of "network" is cancelled; its runner stops terraform.',
  );
  await setRows(plane, "workers", { offline_at: Date.now() }, { id: user.worker });
  expect(await says(id)).toBe(
    `The deployment of "network" is cancelled. Its runner is OFFLINE, so terraform may go on until the runner is back. To see whether it is: windlass workers show ${user.worker}`,
  );
  await user.end(id, "CANCELLED", { outcome_unknown: true });
  expect(await says(id)).toBe(
    'The deployment of "network" is cancelled. It is not known whether its terraform has ended.',
  );
});
