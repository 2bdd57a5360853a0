import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { addHeldJob, addTestWorker, ask } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { texts, words } from "../../../helpers/console/forms.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});

const page = async (path: string): Promise<string> => (await fixture.page(path)).text;

test("the checkbox of each job form with options requests a debug log", async () => {
  const id = await fixture.configure("debugged");
  const name = "debugged";
  for (const [fields, debug] of [
    [{ job_type: "PLAN" }, false],
    [{ job_type: "PLAN", debug: "on" }, true],
    [{ job_type: "DEPLOY", debug: "on" }, true],
    [{ job_type: "DESTROY", confirm: name, debug: "on" }, true],
  ] as const) {
    const { headers } = await fixture.post(`/configurations/${id}/jobs`, fields);
    const made = String(headers["location"]).replace("/jobs/", "");
    const job = await fixture.client.call("getJob", { params: { id: made } });
    expect(job).toMatchObject({ job_type: fields.job_type, debug });
  }
  const shown = await page(`/configurations/${id}/settings`);
  expect(texts(shown, "[name=debug]")).toHaveLength(4);
  // The two boxes of the same panel say whose they are.
  expect(words(shown)).toMatch(
    /Plan the destruction .*Keep a debug log of the plan;.*Destroy everything .*Keep a debug log of the destruction;/,
  );
});

test("the job page links to the debug log and shows its size once it is uploaded", async () => {
  const worker = await addTestWorker(plane, fixture.owner);
  const plain = await addHeldJob(plane, fixture.owner, worker);
  expect(await page(`/jobs/${plain.id}`)).not.toContain("debug log");
  const job = await addHeldJob(plane, fixture.owner, worker, { features: '["debug"]' });
  expect(await page(`/jobs/${job.id}`)).toContain("when the job has ended");
  const body = gzipSync("it");
  const path = `/api/jobs/${job.id}/debug-log`;
  await ask(plane, "POST", path, { headers: worker.headers, body });
  const link = `/api/cli/jobs/${job.id}/debug-log`;
  const shown = await page(`/jobs/${job.id}`);
  expect(texts(shown, `a[download][href="${link}"]`)).toEqual([
    `Download it (${body.length} B, gzip)`,
  ]);
  const answer = await fixture.page(link);
  expect(answer.body.equals(body)).toBe(true);
});
