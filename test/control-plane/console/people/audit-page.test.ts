import { expect, test } from "vitest";
import { endpoints } from "../../../../protocol/endpoints.ts";
import { ask } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { openSampleUser } from "../../../helpers/sample-data.ts";

const { plane } = planeForFile();

test("the audit log links configurations and those of jobs, as long as they exist", async () => {
  const user = await openSampleUser(plane);
  const [kept, gone] = [await user.configure("kept"), await user.configure("gone")];
  const { id } = await user.queue({ job_type: "PLAN", configuration_id: kept });
  await user.person.ask(endpoints.deleteConfiguration, { params: { name: gone } });
  const page = await ask(plane, "GET", "/audit", { headers: user.headers });
  const text = page.text.replaceAll(/\s+/g, " ");
  const link = `<a href="/configurations/${kept}">kept</a>`;
  expect(text.split(link)).toHaveLength(3);
  expect(text).toContain(`<a href="/jobs/${id}">PLAN</a > of ${link}`);
  expect(text).toContain(">gone</td>");
  expect(text).not.toContain(`href="/configurations/${gone}"`);
});
