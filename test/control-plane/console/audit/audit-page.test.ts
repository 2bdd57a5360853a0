import { v7 as uuid } from "uuid";
import { expect, test } from "vitest";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { attributes, texts, words } from "../../../helpers/console/forms.ts";
import { addRows } from "../../../helpers/plane/rows.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();

test("the audit log links configurations and those of jobs, as long as they exist", async () => {
  const user = await openSampleUser(plane);
  const [kept, gone] = [await user.configure("kept"), await user.configure("gone")];
  const { id } = await user.queue({ job_type: "PLAN", configuration_id: kept });
  await user.client.call("deleteConfiguration", { params: { name: gone } });
  const page = await user.page("/audit");
  expect(texts(page, `[href="/configurations/${kept}"]`)).toEqual(["kept", "kept"]);
  expect(texts(page, `li span:has([href="/jobs/${id}"])`)).toEqual([
    `${user.email} queued the plan of kept`,
  ]);
  expect(texts(page, "li > span")).toContain(`${user.email} deleted the configuration gone`);
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
    expect(texts(page, `li [href^="${start}"]`)).toEqual([name]);
  expect(texts(page, "li > span")).toContain(`${user.email} deleted the zone a former zone`);
  expect(page.text).not.toContain(foreign.id);
});

test("a page of the audit log has 50 entries, and the way to older ones", async () => {
  const user = await openSampleUser(plane);
  for (let number = 0; number < 52; number += 1) {
    const body = { name: `zone ${number}` };
    await user.client.call("createZone", { body });
  }
  const first = await user.page("/audit?action=zone.create");
  expect(texts(first, "li")).toHaveLength(50);
  const [older = ""] = attributes(first, "[href*='before=']");
  const second = await user.page(older);
  expect(texts(second, "li > span")).toContain(`${user.email} created the zone zone 1`);
  expect(words(second)).not.toContain("Older entries");
});

test("the audit log is grouped by day, and filtered by person and days", async () => {
  const user = await openSampleUser(plane, "grace@example.com");
  const { id } = await user.client.call("createZone", { body: { name: "mine" } });
  const configuration_id = await user.configure("network");
  await user.run({ job_type: "DEPLOY", configuration_id }, "FAILED", { error_message: "no" });
  const shown = async (query: string) => texts(await user.page(`/audit${query}`), "li > span");
  const ended = /^The worker .* ended the deployment of network Failed$/;
  expect(await shown("?action=job.end")).toEqual([expect.stringMatching(ended)]);
  expect(await shown("?by=GRACE@&action=zone.create")).toEqual([
    "grace@example.com created the zone mine",
    "grace@example.com created the zone production",
  ]);
  expect(await shown("?by=ada")).toEqual([]);
  const today = new Date().toISOString().slice(0, 10);
  const [first = ""] = texts(await user.page("/audit"), ".audit h2");
  expect(first).toMatch(/^Today \w+,? .* UTC$/);
  expect(await shown(`?action=zone.create&since=${today}&until=${today}`)).toHaveLength(2);
  expect(await shown("?until=2001-01-01")).toEqual([]);
  // What is not valid filters nothing.
  expect((await shown("?action=nonsense")).length).toBeGreaterThan(3);
  expect(await shown("?action=zone.create&since=2026-02-30&until=x")).toHaveLength(2);
  expect(attributes(await user.page("/audit"), "li a")).toContain(`/zones/${id}`);
});

test("a person's entries are searched in parts, each with the way to the next", async () => {
  const user = await openSampleUser(plane, "joan@example.com");
  const { store } = plane.context;
  const entry = {
    owner_id: user.id,
    action: "zone.create" as const,
    actor_kind: "session" as const,
    details: "{}",
    created_at: 1000,
  };
  const named = (name: string) => ({ ...entry, id: uuid(), actor_name: name, target_name: name });
  await addRows(store, "audit_entries", named("old"));
  for (let round = 0; round < 4; round += 1)
    await addRows(store, "audit_entries", ...Array.from({ length: 500 }, () => named("new")));
  const page = await user.page("/audit?by=old");
  expect(words(page)).toContain("No such entry among those searched so far.");
  const [older = ""] = attributes(page, "[href*='before=']");
  expect(older).toContain("by=old");
  expect(texts(await user.page(older), "li > span")).toEqual(["old created the zone old"]);
});
