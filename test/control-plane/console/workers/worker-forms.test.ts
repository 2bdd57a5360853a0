/** The forms of a worker, sent without a browser. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Fields, submit, words } from "../../../helpers/console/forms.ts";
import { addTestWorker, ask } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
let id: string;
let spec: string;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});
beforeEach(async () => {
  ({ id } = await addTestWorker(plane, fixture.owner));
  spec = await fixture.configure(`of ${id}`);
});

const send = (path: string, fields: Fields) => fixture.post(`/workers/${id}/${path}`, fields);
const page = async (path = "") => {
  const answer = await fixture.page(`/workers/${id}${path}`);
  const marks = [...answer.text.matchAll(/name="seen" value="([^"]+)"/g)];
  return { status: answer.status, text: words(answer), seen: marks.map(([, mark = ""]) => mark) };
};
const read = () => fixture.client.call("getWorker", { params: { id } });
const teardowns = async () => {
  const { jobs } = await fixture.client.call("listJobs");
  return jobs.filter((job) => job.assigned_worker_id === id);
};

test("the edit form changes name, labels and deploy configuration, and only changes are recorded", async () => {
  const fields = { name: "new", labels: "eu, gpu", configuration_id: spec };
  const targets = "module.worker\r\n  aws_instance.a[0]\r\n";
  const edited = await send("edit", { ...fields, targets });
  expect([edited.status, edited.headers["location"]]).toEqual([303, `/workers/${id}`]);
  const deployed = {
    configuration_id: spec,
    targets: ["module.worker", "aws_instance.a[0]"],
  };
  expect(await read()).toMatchObject({
    name: "new",
    labels: ["eu", "gpu"],
    metadata: { deploy_configuration: deployed },
  });
  expect((await page()).text).toContain(
    `Another worker destroys module.worker, aws_instance.a[0] of "of ${id}"`,
  );
  await send("edit", { ...fields, all: "on" });
  const query = { target_id: id, limit: 1 };
  const { audit_entries } = await fixture.client.call("listAuditEntries", { query });
  expect(audit_entries).toMatchObject([
    {
      action: "worker.update",
      details: { fields: ["deploy_configuration"], destroys: "everything" },
    },
  ]);
  expect((await page()).text).toContain("Another worker destroys everything in the state of");
  await send("edit", { ...fields, configuration_id: "" });
  expect((await read()).metadata).toEqual({});
  expect((await page()).text).toContain("It is not known what this worker was deployed with");
});

test("the edit form keeps a snapshot that the client set", async () => {
  const source = { type: "git", url: "https://git.example.com/x.git" } as const;
  const variables = { key: { value: "s3cret", sensitive: true } };
  const snapshot = { source, variables };
  await fixture.client.call("updateWorker", {
    params: { id },
    body: { deploy_configuration: { snapshot } },
  });
  const fields = { name: "new", labels: "", configuration_id: "snapshot" };
  expect((await send("edit", { ...fields, all: "on" })).status).toBe(303);
  expect((await send("edit", { ...fields, targets: "module.a" })).status).toBe(303);
  expect((await read()).metadata).toMatchObject({
    deploy_configuration: { targets: ["module.a"], snapshot: { source } },
  });
});

describe("the edit form is refused with a message and changes nothing when", () => {
  test.each<[string, () => Fields, number, string]>([
    [
      "there are neither targets nor the checkbox for everything",
      () => ({}),
      400,
      "name them, or tick",
    ],
    [
      "there are both targets and the checkbox for everything",
      () => ({ targets: "module.a", all: "on" }),
      400,
      "contradicts targets: set only one of them",
    ],
    [
      "a target is an option",
      () => ({ targets: "-destroy" }),
      400,
      "must be the address of a resource",
    ],
    [
      "the configuration is unknown",
      () => ({ configuration_id: id, all: "on" }),
      404,
      "There is no such configuration",
    ],
    ["the name is empty", () => ({ name: " ", all: "on" }), 400, "Must not be empty"],
  ])("%s", async (_, make, status, message) => {
    const before = await read();
    const refused = await send("edit", {
      name: "new",
      labels: "",
      configuration_id: spec,
      ...make(),
    });
    expect([refused.status, refused.text.toLowerCase()]).toEqual([
      status,
      expect.stringContaining(message.toLowerCase()),
    ]);
    expect(await read()).toEqual(before);
  });

  test("the worker was changed after the form was opened", async () => {
    const { seen } = await page("/edit");
    const fields = { labels: "", configuration_id: "", seen: seen[0] ?? "none" };
    expect((await send("edit", { ...fields, name: "second" })).status).toBe(303);
    expect((await send("edit", { ...fields, name: "third" })).status).toBe(409);
    expect(await read()).toMatchObject({ name: "second" });
  });
});

test("a teardown under an approval rule is planned, with the same targets", async () => {
  const targets = "module.worker\r\naws_instance.a[0]";
  await send("edit", { name: "ruled", configuration_id: spec, targets });
  const rule = { when: "destructive", count: 1, by_author: false } as const;
  const params = { name: spec };
  await fixture.client.call("updateConfiguration", { params, body: { approval: rule } });
  const { headers } = fixture;
  const { text } = await ask(plane, "GET", `/workers/${id}`, { headers });
  expect(words(text)).toContain("A deployment that deletes or replaces something needs 1 approval");
  expect(text).not.toContain(`action="/workers/${id}/teardown"`);
  const action = `/configurations/${spec}/jobs`;
  const [form = ""] = new RegExp(`<form[^>]*action="${action}"[^]*?</form>`).exec(text) ?? [];
  expect(form).toContain("Plan the destruction, then ask for approval");
  const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  const planned = await submit(plane, action, Object.fromEntries(fields) as Fields, headers);
  const job = await fixture.read(String(planned.headers["location"]).replace("/jobs/", ""));
  expect(job).toMatchObject({
    job_type: "PLAN",
    plan_options: { destroy: true, targets: ["module.worker", "aws_instance.a[0]"] },
  });
});

test("a teardown needs the worker's name and destroys only what the page showed", async () => {
  const deploy = (targets?: string[]) =>
    fixture.client.call("updateWorker", {
      params: { id },
      body: { deploy_configuration: { configuration_id: spec, ...(targets ? { targets } : {}) } },
    });
  const { name } = await deploy(["module.worker"]);
  const { seen } = await page();
  const mark = seen.at(-1) ?? "none";
  expect((await send("teardown", { seen: mark, confirm: "no" })).status).toBe(400);
  await deploy();
  expect((await send("teardown", { seen: mark, confirm: name })).status).toBe(409);
  expect(await teardowns()).toEqual([]);
  const { seen: now } = await page();
  const queued = await send("teardown", { seen: now.at(-1) ?? "none", confirm: name });
  expect([queued.status, await teardowns()]).toMatchObject([303, [{ status: "QUEUED" }]]);
  const [job] = await teardowns();
  const shown = await fixture.page(`/jobs/${job?.id}`);
  expect(shown.text).toContain("everything in the state of");
});

test("a cloud-hosted worker's page shows only name, status and version, and nothing can be changed", async () => {
  const cloud = await addTestWorker(plane, null);
  ({ id } = cloud);
  await ask(plane, "POST", "/api/workers/heartbeat", {
    headers: cloud.headers,
    json: { version: "1.2.3", hostname: "of-the-cloud", isolation: "uid" },
  });
  const { text } = await page();
  expect(text).toContain("1.2.3");
  for (const hidden of ["of-the-cloud", "uid", "Last heartbeat", "Metadata", "Change"])
    expect(text).not.toContain(hidden);
  expect((await page("/edit")).status).toBe(404);
  for (const path of ["edit", "teardown"])
    expect((await send(path, { name: "x", confirm: cloud.name })).status).toBeGreaterThan(399);
});
