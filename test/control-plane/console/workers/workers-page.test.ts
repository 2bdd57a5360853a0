import { expect, test } from "vitest";
import { words } from "../../../helpers/forms.ts";
import { ask, setRows } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { openSampleUser } from "../../../helpers/sample-data.ts";

const { plane } = planeForFile();

test("a worker is shown with the jobs that it holds, not with those of its last heartbeat", async () => {
  const fixture = await openSampleUser(plane);
  const { headers, worker: id } = fixture;
  const shown = async () =>
    Promise.all(
      ["/", "/workers"].map(
        async (path) => / (\d of 2) /.exec(words(await ask(plane, "GET", path, { headers })))?.[1],
      ),
    );
  const configuration_id = await fixture.configure("held");
  await fixture.queue({ job_type: "PLAN", configuration_id });
  expect(await shown()).toEqual(["0 of 2", "0 of 2"]);
  const job = await fixture.start();
  expect(await shown()).toEqual(["1 of 2", "1 of 2"]);
  await setRows(plane, "workers", { active_job_ids: JSON.stringify([job]) }, { id });
  await fixture.end(job, "SUCCESS");
  expect(await shown()).toEqual(["0 of 2", "0 of 2"]);
});
