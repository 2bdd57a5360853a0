import { expect, test } from "vitest";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { attributes, texts, words } from "../../../helpers/console/forms.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();

test("the audit log links configurations and those of jobs, as long as they exist", async () => {
  const user = await openSampleUser(plane);
  const [kept, gone] = [await user.configure("kept"), await user.configure("gone")];
  const { id } = await user.queue({ job_type: "PLAN", configuration_id: kept });
  await user.client.call("deleteConfiguration", { params: { name: gone } });
  const page = await user.page("/audit");
  expect(texts(page, `[href="/configurations/${kept}"]`)).toEqual(["kept", "kept"]);
  expect(texts(page, `td:has([href="/jobs/${id}"])`)).toEqual(["PLAN of kept"]);
  expect(texts(page, "td")).toContain("gone");
  expect(attributes(page, "a")).not.toContain(`/configurations/${gone}`);
});

test("the audit log links zones, workers, sets and cloud identities, as long as they exist", async () => {
  const user = await openSampleUser(plane);
  const zone = await user.client.call("createZone", { body: { name: "a zone" } });
  const gone = await user.client.call("createZone", { body: { name: "a former zone" } });
  await user.client.call("deleteZone", { params: { id: gone.id } });
  const set = await user.client.call("createVariableSet", { body: { name: "a set" } });
  await user.client.call("createWorker", { body: { name: "a worker" } });
  const identity = await user.client.call("createCloudIdentity", {
    body: {
      name: "an account",
      provider: "aws",
      role_arn: "arn:aws:iam::123456789012:role/windlass",
    },
  });
  const other = await openSampleUser(plane);
  const foreign = await other.client.call("createZone", { body: { name: "foreign" } });
  const page = await user.page("/audit");
  for (const [start, name] of [
    [`/zones/${zone.id}`, "a zone"],
    [`/variable-sets/${set.id}`, "a set"],
    [`/identities/${identity.id}`, "an account"],
    ["/workers/", "a worker"],
  ])
    expect(texts(page, `td [href^="${start}"]`)).toEqual([name]);
  expect(texts(page, "td")).toContain("a former zone");
  expect(page.text).not.toContain(foreign.id);
});

test("a page of the audit log has 50 entries, and the way to older ones", async () => {
  const user = await openSampleUser(plane);
  for (let number = 0; number < 52; number += 1) {
    const body = { name: `zone ${number}` };
    await user.client.call("createZone", { body });
  }
  const first = await user.page("/audit?action=zone.create");
  expect(texts(first, "tr")).toHaveLength(51);
  const [older = ""] = attributes(first, "[href*='before=']");
  const second = await user.page(older);
  expect(texts(second, "td")).toContain("zone 1");
  expect(words(second)).not.toContain("Older entries");
});
