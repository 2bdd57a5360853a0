/**
 * Two users or tabs edit the same configuration: neither overwrites a change that it has not seen.
 */
import { beforeAll, expect, test } from "vitest";
import { attributes, dom, type Fields, words } from "../../helpers/console/forms.ts";
import type { TestResponse } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();
let fixture: SampleUser;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});

const send = (path: string, fields: Fields) => fixture.post(path, fields);
const read = (name: string) => fixture.client.call("getConfiguration", { params: { name } });

/** The version mark in a form of a page. */
const markIn = (page: TestResponse, form = "form"): string =>
  attributes(page, `${form} [name=seen]`, "value")[0] ?? "none";
const seen = async (path: string, form?: string) => markIn(await fixture.page(path), form);
const formOf = (name: string): string => `form:has([name=name][value=${name}])`;
const rename = "[aria-labelledby=rename]";

const changedElsewhere = {
  status: 409,
  text: expect.stringContaining("This was changed in another tab or by another user"),
};

test("an edit of a configuration that was changed after the form was opened is refused", async () => {
  const id = await fixture.configure("two tabs");
  const path = `/configurations/${id}/edit`;
  const mark = await seen(path);
  const fields = (more: Fields): Fields => ({
    name: "two tabs",
    zone_id: fixture.owner.zone,
    source: "git",
    url: "https://git.example.com/x.git",
    engine: "terraform",
    backend: "managed",
    seen: mark,
    ...more,
  });
  expect((await send(path, fields({ ref: "v2" }))).status).toBe(303);
  const refused = await send(path, fields({ labels: "eu" }));
  expect(refused).toMatchObject(changedElsewhere);
  // The form has the entries of its reader only.
  expect(refused.text).toContain(`<a href="/configurations/${id}" target="_blank"`);
  expect(await read(id)).toMatchObject({ source: { ref: "v2" }, labels: [] });
  // The refused form carries the current version: saving it again is deliberate.
  const fresh = markIn(refused);
  expect((await send(path, fields({ labels: "eu", seen: fresh }))).status).toBe(303);
  const after = await read(id);
  expect(after.labels).toEqual(["eu"]);
  expect(after.source).not.toHaveProperty("ref");
});

test("a change of a variable that was changed after its form was opened is refused", async () => {
  const id = await fixture.configure("two tabs of values");
  const page = `/configurations/${id}/variables`;
  const set = (fields: Fields) => send(`${page}/variables`, fields);
  await set({ do: "add", name: "plain", value: "old" });
  await set({ do: "add", name: "key", value: "secret", sensitive: "on" });
  const plain = await seen(page, formOf("plain"));
  const key = await seen(page, formOf("key"));
  expect((await set({ do: "set", name: "plain", value: "new", seen: plain })).status).toBe(303);
  expect((await set({ do: "set", name: "key", value: "open", seen: key })).status).toBe(303);
  for (const stale of [
    { name: "plain", value: "old", sensitive: "on", seen: plain },
    { name: "key", value: "", sensitive: "on", seen: key },
  ])
    expect((await set({ do: "set", ...stale })).status).toBe(409);
  expect((await read(id)).variables).toEqual({
    plain: { value: "new", sensitive: false },
    key: { value: "open", sensitive: false },
  });
});

test.each(["variables", "environment"] as const)(
  "a new secret of the %s does not replace one that was set after its form was opened",
  async (kind) => {
    const id = await fixture.configure(`two tabs of secrets in ${kind}`);
    const page = `/configurations/${id}/variables`;
    const set = (fields: Fields) =>
      send(`${page}/${kind}`, { name: "key", sensitive: "on", ...fields });
    await set({ do: "add", value: "old" });
    await set({ do: "add", name: "other", value: "old" });
    const key = () => seen(page, formOf("key"));
    const old = await key();
    // Another value is no change of this one, nor is a form that keeps it.
    const other = await seen(page, formOf("other"));
    expect((await set({ do: "set", name: "other", value: "x", seen: other })).status).toBe(303);
    expect((await set({ do: "set", value: "", seen: old })).status).toBe(303);
    expect(await key()).toBe(old);
    expect((await set({ do: "set", value: "first", seen: old })).status).toBe(303);
    expect(await key()).not.toBe(old);
    const refused = await set({ do: "set", value: "second", seen: old });
    expect(refused).toMatchObject(changedElsewhere);
    expect(refused.text).not.toContain("second");
    expect((await set({ do: "remove", seen: old })).status).toBe(409);
    expect((await set({ do: "remove", seen: await key() })).status).toBe(303);
  },
);

test("a change of a variable that was removed after its form was opened can be added again", async () => {
  const id = await fixture.configure("two tabs of a removed value");
  const page = `/configurations/${id}/variables`;
  const set = (fields: Fields) => send(`${page}/variables`, { name: "gone", ...fields });
  await set({ do: "add", value: "old" });
  const mark = await seen(page, formOf("gone"));
  expect((await set({ do: "remove", seen: mark })).status).toBe(303);
  const refused = await set({ do: "set", value: "typed for long", seen: mark });
  expect(refused.status).toBe(409);
  expect(refused.text).toContain("&quot;gone&quot; was removed in another tab or by another user");
  const adding = dom(refused).querySelector("form:has([name=do][value=add])")!;
  expect(attributes(adding, "[name=name]", "value")).toEqual(["gone"]);
  expect(words(adding)).toContain("typed for long");
});

test("a rename of a zone that was renamed after the form was opened is refused", async () => {
  const { id } = await fixture.client.call("createZone", { body: { name: "first" } });
  const path = `/zones/${id}`;
  const known = await seen(path, rename);
  expect((await send(path, { name: "second", seen: known })).status).toBe(303);
  const refused = await send(path, { name: "third", seen: known });
  expect(refused).toMatchObject(changedElsewhere);
  expect(refused.text).toContain(`<a href="${path}" target="_blank"`);
  expect(await fixture.client.call("getZone", { params: { id } })).toMatchObject({
    name: "second",
  });
  const fresh = markIn(refused);
  expect((await send(path, { name: "third", seen: fresh })).status).toBe(303);
});

test("a rename of a variable set, or a change of its value, after the form was opened is refused", async () => {
  const made = await send("/variable-sets", { name: "shared" });
  const path = String(made.headers["location"]);
  await send(`${path}/variables`, { do: "add", name: "region", value: "old" });
  const value = await seen(path, formOf("region"));
  const name = await seen(path, rename);
  const set = (fields: Fields) =>
    send(`${path}/variables`, { do: "set", name: "region", ...fields });
  expect((await set({ value: "new", seen: value })).status).toBe(303);
  expect((await send(path, { name: "renamed", seen: name })).status).toBe(303);
  for (const refused of [
    await set({ value: "older", seen: value }),
    await send(path, { name: "third", seen: name }),
  ]) {
    expect(refused).toMatchObject(changedElsewhere);
    expect(refused.text).toContain(`<a href="${path}" target="_blank"`);
  }
  const params = { id: path.split("/")[2] ?? "" };
  expect(await fixture.client.call("getVariableSet", { params })).toMatchObject({
    name: "renamed",
    variables: { region: { value: "new" } },
  });
});

test("twenty values that are added concurrently are all stored", async () => {
  const id = await fixture.configure("all at once");
  const names = Array.from({ length: 20 }, (_, index) => `v${index}`);
  for (const kind of ["variables", "environment"] as const) {
    const add = (name: string) =>
      send(`/configurations/${id}/variables/${kind}`, { do: "add", name, value: name });
    const answers = await Promise.all(names.map(add));
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 303));
    expect(Object.keys((await read(id))[kind] ?? {}).toSorted()).toEqual(names.toSorted());
  }
});
