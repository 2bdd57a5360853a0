/**
 * Unusual values in forms: each is stored as it was typed, or refused, and none causes a server
 * error.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { dump } from "../../helpers/store/store-dump.ts";
import { submit as send, type Fields } from "../../helpers/console/forms.ts";
import { ask } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});
// `planeForFile` fails the file if the server logs an error.

const submit = (path: string, fields: Fields | string) =>
  send(plane, path, fields, fixture.headers);
const whole = {
  source: "git",
  url: "https://x.example/x.git",
  engine: "terraform",
  backend: "own",
};
const levels = (count: number): string => `${"[".repeat(count)}${"]".repeat(count)}`;

describe("a variable", () => {
  const set = (id: string, fields: Fields) =>
    submit(`/configurations/${id}/variables/variables`, fields);
  const change = (name: string, variables: Record<string, { value: unknown }>) =>
    fixture.client.call("updateConfiguration", { params: { name }, body: { variables } });
  const read = async (name: string) =>
    (await fixture.client.call("getConfiguration", { params: { name } })).variables;

  test("that was a number keeps every digit", async () => {
    const id = await fixture.configure("numbers");
    for (const [typed, kept] of [
      ["12", 12],
      ["-1.5", -1.5],
      ["007", "007"],
      ["-01", "-01"],
      ["12345678901234567890", "12345678901234567890"],
      ["1e999", "1e999"],
      ["false", false],
    ] as const) {
      await change(id, { n: { value: 3 } });
      expect((await set(id, { do: "set", name: "n", value: typed })).status).toBe(303);
      expect([typed, (await read(id))?.["n"]?.value]).toEqual([typed, kept]);
    }
  });

  test.each([
    ["nested deeper than the limit", levels(501)],
    ["nested as deep as a form is long", levels(100_000)],
    ["with an unpaired surrogate", '["\\ud800"]'],
    ["with an unpaired surrogate in a name", '{"\\udfff": 1}'],
  ])("%s is refused by the form and by the API", async (title, value) => {
    const id = await fixture.configure(title);
    const before = await dump(plane);
    const form = await set(id, { do: "add", name: "x", value });
    expect(form).toMatchObject({ status: 400, text: expect.stringContaining("Cannot be kept: ") });
    const api = await ask(plane, "PATCH", `/api/cli/configurations/${id}`, {
      headers: { ...fixture.headers, "content-type": "application/json" },
      body: `{"variables":{"x":{"value":${value}}}}`,
    });
    expect([api.status, api.json()["code"]]).toEqual([400, "malformed_json"]);
    expect(await dump(plane)).toEqual(before);
  });

  test("nested within the limit is stored, and its job can be queued", async () => {
    const id = await fixture.configure("nested");
    const value = levels(480);
    expect((await set(id, { do: "add", name: "x", value })).status).toBe(303);
    expect(JSON.stringify((await read(id))?.["x"]?.value)).toBe(value);
    const { status } = await submit(`/configurations/${id}/jobs`, { job_type: "PLAN" });
    expect(status).toBe(303);
  });

  test("is refused above 4 MiB of variables in total", async () => {
    const id = await fixture.configure("many");
    const value = "x".repeat(2 << 20);
    expect((await set(id, { do: "add", name: "a", value })).status).toBe(303);
    const refused = await set(id, { do: "add", name: "b", value });
    expect(refused).toMatchObject({
      status: 400,
      text: expect.stringContaining("Are larger than 4 MiB in total"),
    });
    expect(Object.keys((await read(id)) ?? {})).toEqual(["a"]);
  });

  test("that is sensitive is not shown again when its name comes with a space", async () => {
    const id = await fixture.configure("spaced name");
    await set(id, { do: "add", name: "key", value: "planted-1", sensitive: "on" });
    for (const fields of [
      { do: "add", name: " key ", value: "planted-2" },
      { do: "set", name: "key\t", value: "[planted-3" },
    ]) {
      const refused = await set(id, fields);
      expect([refused.status, refused.text.includes("planted")]).toEqual([400, false]);
    }
  });
});

test("inline files are limited to 1 MiB in total and 1000 files", async () => {
  const before = await dump(plane);
  const path = `/zones/${fixture.owner.zone}/new`;
  const text = "x".repeat(700_000);
  const files = { file_path: ["a.tf", "b.tf"], file_text: [text, text] };
  const large = await submit(path, { ...whole, name: "x", source: "inline", ...files });
  expect(large).toMatchObject({
    status: 400,
    text: expect.stringContaining("Are larger than 1 MiB in total"),
  });
  const paths = Array.from({ length: 9_000 }, (_, index) => `file_path=${index.toString(36)}`);
  const many = await submit(path, `name=x&source=inline&${paths.join("&")}`);
  expect([many.status, many.body.length < 2_000_000]).toEqual([400, true]);
  expect(many.text).toContain("At most 1000 files are allowed");
  const labels = "eu ".repeat(100_000);
  expect((await submit(path, { ...whole, name: "x", labels })).status).toBe(400);
  expect(await dump(plane)).toEqual(before);
});

test("a configuration that only the API accepts can be edited and destroyed with forms", async () => {
  const zone_id = fixture.owner.zone;
  for (const [name, source] of [
    [" a ", { type: "git", url: "https://git.example.com/x.git", path: " " }],
    [" b ", { type: "inline", files: { "x.tf": "", " x.tf": "" } }],
  ] as const) {
    const body = { name, zone_id, source };
    const { id } = await fixture.client.call("createConfiguration", { body });
    const edited = await submit(`/configurations/${id}/edit`, { ...whole, zone_id, name });
    expect(edited.status).toBe(303);
    const { source: now } = await fixture.client.call("getConfiguration", {
      params: { name: id },
    });
    expect(now).toEqual({ type: "git", url: whole.url });
    const destroy = { job_type: "DESTROY", confirm: name.trim() };
    expect((await submit(`/configurations/${id}/jobs`, destroy)).status).toBe(303);
  }
});
