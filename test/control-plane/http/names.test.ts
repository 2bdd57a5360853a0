/** Names that look the same are the same name, in every form that Unicode has for them. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { type Calls, callsOf } from "../../helpers/plane/calls.ts";
import { submit, words } from "../../helpers/console/forms.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openPerson } from "../../helpers/people/sign-in.ts";
import { setRows } from "../../helpers/plane/plane.ts";

const { plane } = planeForFile();
let headers: Record<string, string>;
let person: Calls;
let zone_id: string;
beforeAll(async () => {
  ({ headers } = await openPerson(plane));
  person = callsOf(plane, headers);
  ({ id: zone_id } = await person.call("createZone", { body: { name: "zone" } }));
});

const composed = "Z\u00fcrich 東京";
const decomposed = "Zu\u0308rich 東京";
const source = { type: "inline", files: { "main.tf": "" } } as const;
const rename = { params: { id: "" }, body: { name: decomposed } };

it("a name is stored and looked up in its composed form", async () => {
  const zone = await person.call("createZone", { body: { name: decomposed } });
  expect(zone.name).toBe(composed);
  for (const name of [composed, decomposed])
    expect(await person.refusal("createZone", { body: { name } })).toBe("409 name_taken");
  const other = await person.call("createZone", { body: { name: "other" } });
  expect(await person.refusal("updateZone", { ...rename, params: { id: other.id } })).toBe(
    "409 name_taken",
  );
  const body = { name: decomposed, zone_id, source };
  const { id } = await person.call("createConfiguration", { body });
  for (const name of [composed, decomposed])
    expect(await person.call("getConfiguration", { params: { name } })).toMatchObject({
      id,
      name: composed,
      project_name: composed,
    });
  const query = { configuration: decomposed };
  expect(await person.call("listJobs", { query })).toMatchObject({ jobs: [] });
  const { worker_id } = await person.call("registerWorker", {
    body: { name: decomposed, mode: "self-hosted" },
  });
  const worker = await person.call("getWorker", { params: { id: worker_id } });
  expect(worker.name).toBe(composed);
  const form = await submit(plane, "/zones", { name: decomposed }, headers);
  expect(`${form.status} ${words(form)}`).toMatch(/^409 .*already exists/);
});

it("a blank name is refused", async () => {
  for (const name of [" ", "  \u00a0"]) {
    const form = await submit(plane, "/zones", { name }, headers);
    expect(`${form.status} ${words(form)}`).toMatch(/^400 .*Must not be empty/);
    const answer = await person.refusal("createTeam", { body: { name } });
    expect(answer).toBe("400 invalid_request");
  }
});

it.each(["a\u202eb", "a\u2066b", "\u200fa", "a\u200bb", "a\u2028b"])(
  "the name %j is refused, and stays readable where it was accepted earlier",
  async (name) => {
    const body = { name };
    expect(await person.refusal("createZone", { body })).toBe("400 invalid_request");
    const earlier = { name: randomUUID(), zone_id, source };
    const { id } = await person.call("createConfiguration", { body: earlier });
    await setRows(plane, "specs", { name }, { id });
    const params = { name: id };
    expect(await person.call("getConfiguration", { params })).toMatchObject({ id, name });
  },
);

it("a decomposed name of an earlier version is found by its id, and composed by a new name", async () => {
  const body = { name: "kept", zone_id, source };
  const { id } = await person.call("createConfiguration", { body });
  await setRows(plane, "specs", { name: "e\u0301" }, { id });
  const params = { name: id };
  expect((await person.call("getConfiguration", { params })).name).toBe("e\u0301");
  const change = { params, body: { name: "e\u0301" } };
  expect((await person.call("updateConfiguration", change)).name).toBe("\u00e9");
});
