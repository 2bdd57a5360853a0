import { beforeAll, expect, test } from "vitest";
import { ask } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/sample-data.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});

const page = async (job: string): Promise<string> =>
  (await ask(plane, "GET", `/jobs/${job}`, { headers: fixture.headers })).text;
const begin = async (job_type: "PLAN" | "DEPLOY"): Promise<string> => {
  const configuration_id = await fixture.configure(`for ${job_type}`);
  await fixture.queue({ job_type, configuration_id });
  return fixture.start();
};
/** The class and the name of each step. */
const stepsIn = (text: string): (string | undefined)[][] =>
  [...text.matchAll(/<li class="(\w+)">\s*<strong>([\w: ]+)<\/strong>/g)].map(([, look, name]) => [
    look,
    name,
  ]);

test("a running DEPLOY is cancelled after a question, a running PLAN at once", async () => {
  const question = /<summary>Cancel…<\/summary>[^]*?\/cancel"[^]*?<\/details>/;
  const deploy = await begin("DEPLOY");
  expect(await page(deploy)).toMatch(question);
  await fixture.end(deploy, "SUCCESS");
  const plan = await begin("PLAN");
  const shown = await page(plan);
  expect(shown).not.toMatch(question);
  expect(shown).toContain(`action="/jobs/${plan}/cancel"`);
  await fixture.end(plan, "FAILED");
});

test("the step at which a job failed is shown as failed", async () => {
  const configuration_id = await fixture.configure("failing");
  await fixture.queue({ job_type: "PLAN", configuration_id });
  const job = await fixture.start();
  for (const name of ["init", "plan"])
    for (const event of ["started", "ended"] as const) await fixture.step(job, name, event);
  await fixture.end(job, "FAILED");
  expect(stepsIn(await page(job)).slice(-3)).toEqual([
    ["done", "init"],
    ["failed", "plan"],
    ["failed", "Ended: FAILED"],
  ]);
});
