import { describe, expect, it } from "vitest";
import { replaceOutputs } from "../../../../control-plane/store/configurations/configurations.ts";
import { ask, readRow, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addSpec } from "../../../helpers/plane/rows.ts";
import { addTestUser } from "../../../helpers/people/user.ts";

const { plane } = planeForFile();

/** A configuration of a user, and a push of a state with these outputs to it. */
async function configured() {
  const user = await addTestUser(plane);
  const spec = await addSpec(plane.context.store, user.owner);
  const path = `/api/cli/configurations/${spec}/state/versions`;
  const push = async (outputs: unknown, serial = 1) => {
    const state = { version: 4, serial, lineage: "lineage", outputs, resources: [] };
    const body = JSON.stringify(state);
    return (await ask(plane, "POST", path, { headers: user.headers, body })).status;
  };
  return { ...user, spec, push };
}

const text = (value: unknown, more: object = {}) => ({ value, type: "string", ...more });

describe("the outputs of a state that a user stores", () => {
  it("are those of the configuration, after a push and after a rollback", async () => {
    const { push, client, spec } = await configured();
    const components = async () =>
      (await client.call("getConfiguration", { params: { name: spec } })).components;
    await push({ count: { value: 3, type: "number" }, cluster_name: text("one") });
    const first = [
      { name: "cluster_name", type: "string", value: "one", sensitive: false },
      { name: "count", type: "number", value: 3, sensitive: false },
    ];
    expect(await components()).toEqual(first);
    expect(await readRow(plane, "specs", { id: spec })).toMatchObject({ cluster_name: "one" });
    await push({ count: { value: 4, type: "number" } }, 2);
    expect(await components()).toMatchObject([{ name: "count", value: 4 }]);
    expect(await readRow(plane, "specs", { id: spec })).toMatchObject({ cluster_name: null });
    const params = { name: spec, serial: "1" };
    await client.call("rollBackState", { params });
    expect(await components()).toEqual(first);
    // A state that a job has deployed elsewhere says nothing of what is stored here.
    await setRows(plane, "specs", { deployed_backend: "own" }, { id: spec });
    await client.call("rollBackState", { params: { ...params, serial: "2" } });
    expect(await components()).toEqual(first);
  });

  it("are hidden if they are sensitive, were hidden, or contain a sensitive value", async () => {
    const { push, client, spec } = await configured();
    const params = { name: spec };
    const components = async () => {
      const configuration = await client.call("getConfiguration", { params });
      return configuration.components.map(({ name, value }) => [name, value]);
    };
    const secret = (value: string) => ({ value, sensitive: true });
    await client.call("updateConfiguration", {
      params,
      body: { variables: { old: secret("old-password"), plain: { value: "a plain one" } } },
    });
    const body = { job_type: "DEPLOY", configuration_id: spec } as const;
    const job = await client.call("createJob", { body });
    const ended = {
      status: "FAILED" as const,
      claimed_at: 1,
      started_at: 1,
      ended_at: 1,
      released_at: 1,
    };
    await setRows(plane, "jobs", ended, { id: job.id });
    const variables = { old: secret("new-password"), plain: { value: "a plain one" } };
    await client.call("updateConfiguration", { params, body: { variables } });
    const set = { name: "shared", variables: { shared: secret("set-password") } };
    const { id } = await client.call("createVariableSet", { body: set });
    const attached = { id, configuration_id: spec };
    await client.call("attachToConfiguration", { params: attached });
    const none = { cluster_name: null, cluster_endpoint: null, gitops_url: null };
    await plane.context.store.write((tx) =>
      replaceOutputs(tx, spec, { ...none, outputs_omitted: 0, failed_checks: null }, [
        { name: "was_hidden", type: '"string"', value: null, sensitive: 1, omitted_bytes: null },
      ]),
    );
    const encoded = Buffer.from("old-password").toString("base64");
    await push({
      marked: text("marked-value", { sensitive: true }),
      was_hidden: text("x"),
      old: text(`https://user:old-password@example.com`),
      encoded: text({ a: [encoded] }),
      new: text("new-password"),
      cluster_endpoint: text("set-password"),
      plain: text("a plain one"),
    });
    expect(await components()).toEqual([
      ["cluster_endpoint", undefined],
      ["encoded", undefined],
      ["marked", undefined],
      ["new", undefined],
      ["old", undefined],
      ["plain", "a plain one"],
      ["was_hidden", undefined],
    ]);
    expect(await readRow(plane, "specs", { id: spec })).toMatchObject({ cluster_endpoint: null });
  });

  it.each([
    ["has more than 4 MiB", { a: text("x".repeat(4 * 1024 * 1024)) }, []],
    ["has more than 20,000 values", { a: { value: Array.from({ length: 20_000 }, () => 0) } }, []],
    ["is no map", 7, []],
    ["is a list", [1], []],
    ["is missing", undefined, []],
    [
      "has what terraform would refuse",
      { "a b": text("x"), n: 7, o: null, p: {}, nul: text("\0"), "": text("x"), ok: text("y") },
      ["ok"],
    ],
    [
      "has more than 1000",
      Object.fromEntries(Array.from({ length: 1100 }, (_, at) => [`o${at}`, text("x")])),
      1000,
    ],
  ])("are those that can be read if the member %s", async (_, outputs, expected) => {
    const { push, client, spec } = await configured();
    await push({ former: text("x") });
    expect(await push(outputs, 2)).toBe(201);
    const found = await client.call("getConfiguration", { params: { name: spec } });
    const names = found.components.map(({ name }) => name);
    expect(typeof expected === "number" ? names.length : names).toEqual(expected);
    expect(found.outputs_omitted).toBe(expected === 1000 ? 100 : undefined);
  });

  it("are all hidden if there are more sensitive values than can be searched", async () => {
    const { push, client, spec } = await configured();
    const params = { name: spec };
    const variables = { v: { value: "x".repeat(70_000), sensitive: true } };
    await client.call("updateConfiguration", { params, body: { variables } });
    await push({ a: text("y") });
    const { components } = await client.call("getConfiguration", { params });
    expect(components).toMatchObject([{ name: "a", sensitive: true }]);
  });

  it("do not stop the server while they are searched", async () => {
    const { push, client, spec } = await configured();
    const params = { name: spec };
    const variables = { v: { value: `${"a".repeat(1000)}b`, sensitive: true } };
    await client.call("updateConfiguration", { params, body: { variables } });
    const outputs = Array.from({ length: 15 }, (_, at) => [`o${at}`, text("a".repeat(250_000))]);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await push(Object.fromEntries(outputs));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(15);
  });
});
