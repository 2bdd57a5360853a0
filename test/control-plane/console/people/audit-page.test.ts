import { expect, test } from "vitest";
import { ask } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();

test("the audit log links configurations and those of jobs, as long as they exist", async () => {
  const user = await openSampleUser(plane);
  const [kept, gone] = [await user.configure("kept"), await user.configure("gone")];
  const { id } = await user.queue({ job_type: "PLAN", configuration_id: kept });
  await user.person.call("deleteConfiguration", { params: { name: gone } });
  const page = await ask(plane, "GET", "/audit", { headers: user.headers });
  const text = page.text.replaceAll(/\s+/g, " ");
  const link = `<a href="/configurations/${kept}">kept</a>`;
  expect(text.split(link)).toHaveLength(3);
  expect(text).toContain(`<a href="/jobs/${id}">PLAN</a > of ${link}`);
  expect(text).toContain(">gone</td>");
  expect(text).not.toContain(`href="/configurations/${gone}"`);
});

test("the audit log links zones, workers, sets and cloud identities, as long as they exist", async () => {
  const user = await openSampleUser(plane);
  const zone = await user.person.call("createZone", { body: { name: "a zone" } });
  const gone = await user.person.call("createZone", { body: { name: "a former zone" } });
  await user.person.call("deleteZone", { params: { id: gone.id } });
  const set = await user.person.call("createVariableSet", { body: { name: "a set" } });
  await user.person.call("createWorker", { body: { name: "a worker" } });
  const identity = await user.person.call("createCloudIdentity", {
    body: {
      name: "an account",
      provider: "aws",
      role_arn: "arn:aws:iam::123456789012:role/windlass",
    },
  });
  const other = await openSampleUser(plane);
  const foreign = await other.person.call("createZone", { body: { name: "foreign" } });
  const page = await ask(plane, "GET", "/audit", { headers: user.headers });
  const text = page.text.replaceAll(/\s+/g, " ");
  expect(text).toContain(`<a href="/zones/${zone.id}">a zone</a>`);
  expect(text).toContain(`<a href="/variable-sets/${set.id}">a set</a>`);
  expect(text).toContain(`<a href="/identities/${identity.id}">an account</a>`);
  expect(text).toMatch(/<a href="\/workers\/[0-9a-f-]{36}">a worker<\/a>/);
  expect(text).toContain(">a former zone</td>");
  expect(text).not.toContain(foreign.id);
});

test("a page of the audit log has 50 entries, and the way to older ones", async () => {
  const user = await openSampleUser(plane);
  for (let number = 0; number < 52; number += 1) {
    const body = { name: `zone ${number}` };
    await user.person.call("createZone", { body });
  }
  const read = async (path: string) =>
    (await ask(plane, "GET", path, { headers: user.headers })).text;
  const first = await read("/audit?action=zone.create");
  expect(first.match(/<tr>/g)).toHaveLength(51);
  const [, older = ""] = /href="(\/audit\?[^"]*before=[^"]*)"/.exec(first) ?? [];
  const second = await read(older.replaceAll("&amp;", "&"));
  expect(second).toContain("zone 1<");
  expect(second).not.toContain("Older entries");
});
