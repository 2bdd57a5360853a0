import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { setsLimit } from "../../../../protocol/variable-sets.ts";
import { secretBox } from "../../../../control-plane/domain/secret-box.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addArtifact, addSpec } from "../../../helpers/plane/rows.ts";
import { readRow, setRows } from "../../../helpers/plane/plane.ts";

const source = { type: "inline" as const, files: { "main.tf": "" } };

const { plane, it: base } = planeForFile({ WINDLASS_QUOTA_VARIABLE_SETS: "30" });
const it = base
  .extend(
    "configure",
    ({ client, owner }) =>
      (more: object = {}) =>
        client.call("createConfiguration", {
          body: { name: randomUUID(), zone_id: owner.zone, source, ...more },
        }),
  )
  .extend(
    "make",
    ({ client }) =>
      (body: object = {}) =>
        client.call("createVariableSet", { body: { name: randomUUID(), ...body } }),
  )
  .extend(
    "plan",
    ({ client }) =>
      (configuration_id: string) =>
        client.call("createJob", { body: { job_type: "PLAN", configuration_id } }),
  );

describe("a variable set", () => {
  it("keeps its sensitive values sealed and never returns them", async ({ client, make }) => {
    const made = await make({
      variables: { password: { value: "s3cret-of-set", sensitive: true }, region: { value: "eu" } },
      environment: { API_TOKEN: "s3cret-of-environment", PLAIN: "x" },
    });
    const values = {
      variables: { password: { sensitive: true }, region: { value: "eu" } },
      environment: { API_TOKEN: { sensitive: true }, PLAIN: "x" },
    };
    expect(made).toMatchObject({ ...values, zone_ids: [], configuration_ids: [] });
    const params = { id: made.id };
    expect(await client.call("getVariableSet", { params })).toEqual(made);
    const stored = await readRow(plane, "variable_sets", { id: made.id });
    expect(stored.definition).not.toContain("s3cret");
    const changed = await client.call("updateVariableSet", {
      params,
      body: { name: "renamed", variables: { password: { sensitive: true } } },
    });
    expect(changed).toMatchObject({
      name: "renamed",
      variables: { password: { sensitive: true } },
    });
    expect(changed.environment).toEqual(values.environment);
    for (const variables of [{ password: { sensitive: false } }, { unknown: {} }])
      expect(await client.refusal("updateVariableSet", { params, body: { variables } })).toBe(
        "400 invalid_request",
      );
  });

  it("is checked like a configuration, and has a quota", async ({ client, make, otherClient }) => {
    const { name } = await make();
    expect(await client.refusal("createVariableSet", { body: { name } })).toBe("409 name_taken");
    await otherClient.call("createVariableSet", { body: { name } });
    const forbidden = { name: "x", environment: { TF_CLI_ARGS: "-x" } };
    expect(await client.refusal("createVariableSet", { body: forbidden })).toBe(
      "400 forbidden_environment_name",
    );
    const unknown = { name: "x", source } as never;
    expect(await client.refusal("createVariableSet", { body: unknown })).toBe(
      "400 invalid_request",
    );
    for (let count = 1; count < 30; count += 1) await make();
    expect(await client.refusal("createVariableSet", { body: { name: "one more" } })).toBe(
      "409 quota_exceeded",
    );
    const { variable_sets } = await client.call("listVariableSets");
    expect(variable_sets).toHaveLength(30);
    const page = await client.call("listVariableSets", { query: { limit: 7 } });
    const next = { limit: 7, cursor: page.next_cursor ?? "" };
    const second = await client.call("listVariableSets", { query: next });
    expect([...page.variable_sets, ...second.variable_sets]).toEqual(variable_sets.slice(0, 14));
  });

  it("is attached to zones and configurations", async ({ client, configure, make, owner }) => {
    const { id } = await make();
    const spec = await configure();
    const zone = { id, zone_id: owner.zone };
    const configuration = { id, configuration_id: spec.id };
    await client.call("attachToZone", { params: zone });
    const attached = await client.call("attachToConfiguration", { params: configuration });
    expect(attached).toMatchObject({ zone_ids: [owner.zone], configuration_ids: [spec.id] });
    const again = await client.call("attachToConfiguration", { params: configuration });
    expect(again).toEqual(attached);
    const refused = client.call("deleteVariableSet", { params: { id } });
    await expect(refused).rejects.toThrow("is attached to 1 zone and 1 configuration: detach");
    const detached = await client.call("detachFromZone", { params: zone });
    expect(detached).toMatchObject({ zone_ids: [], configuration_ids: [spec.id] });
    const body = { zone_ids: [owner.zone], configuration_ids: [] };
    expect(await client.call("updateVariableSet", { params: { id }, body })).toMatchObject(body);
    await client.call("updateVariableSet", { params: { id }, body: { zone_ids: [] } });
    await client.call("detachFromConfiguration", { params: configuration });
    await client.call("deleteVariableSet", { params: { id } });
    const { audit_entries } = await client.call("listAuditEntries", { query: { target_id: id } });
    expect(audit_entries.map(({ action, details }) => [action, details]).toReversed()).toEqual([
      ["variable_set.create", {}],
      ["variable_set.attach", { zone_id: owner.zone, zone_name: expect.any(String) }],
      ["variable_set.attach", { configuration_id: spec.id, configuration_name: spec.name }],
      ["variable_set.detach", { zone_id: owner.zone, zone_name: expect.any(String) }],
      ["variable_set.update", { fields: ["zone_ids", "configuration_ids"] }],
      ["variable_set.update", { fields: ["zone_ids"] }],
      ["variable_set.delete", {}],
    ]);
  });

  it("belongs to one user and is attached only to things of that user", async ({
    client,
    make,
    owner,
    otherClient,
    otherOwner,
  }) => {
    const { id } = await make();
    const spec = await addSpec(plane.context.store, otherOwner);
    const foreign = [
      client.refusal("attachToZone", { params: { id, zone_id: otherOwner.zone } }),
      client.refusal("attachToConfiguration", { params: { id, configuration_id: spec } }),
      client.refusal("updateVariableSet", { params: { id }, body: { configuration_ids: [spec] } }),
      client.refusal("createVariableSet", { body: { name: "x", zone_ids: [otherOwner.zone] } }),
      otherClient.refusal("getVariableSet", { params: { id } }),
      otherClient.refusal("updateVariableSet", { params: { id }, body: { name: "mine" } }),
      otherClient.refusal("attachToZone", { params: { id, zone_id: otherOwner.zone } }),
      otherClient.refusal("detachFromZone", { params: { id, zone_id: owner.zone } }),
      otherClient.refusal("deleteVariableSet", { params: { id } }),
    ];
    expect(new Set(await Promise.all(foreign))).toEqual(new Set(["404 not_found"]));
  });

  it("joins others of one configuration, up to a limit", async ({ client, configure, make }) => {
    const { id: configuration_id } = await configure();
    for (let count = 0; count < setsLimit; count += 1)
      await make({ configuration_ids: [configuration_id] });
    const one = await make();
    const attach = { params: { id: one.id, configuration_id } };
    expect(await client.refusal("attachToConfiguration", attach)).toBe("409 quota_exceeded");
    expect((await client.call("getVariableSet", { params: one })).configuration_ids).toEqual([]);
  });

  it("is detached from what is deleted", async ({ client, configure, make, owner }) => {
    const spec = await configure();
    const { id } = await make({ configuration_ids: [spec.id], zone_ids: [owner.zone] });
    await client.call("deleteConfiguration", { params: { name: spec.id } });
    expect(await client.call("getVariableSet", { params: { id } })).toMatchObject({
      configuration_ids: [],
      zone_ids: [owner.zone],
    });
    await client.call("deleteZone", { params: { id: owner.zone } });
    expect((await client.call("getVariableSet", { params: { id } })).zone_ids).toEqual([]);
  });
});

describe("a job of a configuration with variable sets", () => {
  it("gets the values that hold when it is created, the configuration's own first", async ({
    client,
    configure,
    make,
    owner,
    plan,
    runner,
  }) => {
    const { id } = await configure({
      variables: { own: { value: "own" } },
      environment: { OWN: "own" },
    });
    const all = ["own", "b", "a", "zone"];
    const named = (value: string) => ({
      variables: Object.fromEntries(
        all.slice(0, all.indexOf(value) + 1).map((n) => [n, { value }]),
      ),
    });
    const zone = await make({
      name: "0 zone",
      ...named("zone"),
      environment: { OWN: "zone", ZONE_TOKEN: "s3cret" },
      zone_ids: [owner.zone],
    });
    const configuration_ids = [id];
    const a = await make({ name: "set a", ...named("a"), configuration_ids });
    const b = await make({ name: "set b", ...named("b"), configuration_ids });
    expect((await client.call("getConfiguration", { params: { name: id } })).variable_sets).toEqual(
      [
        { id: a.id, name: "set a", attached_to: "configuration" },
        { id: b.id, name: "set b", attached_to: "configuration" },
        { id: zone.id, name: "0 zone", attached_to: "zone" },
      ],
    );
    const job = await plan(id);
    expect(job.config_snapshot?.environment).toMatchObject({ ZONE_TOKEN: { sensitive: true } });
    const body = { variables: {}, environment: {} };
    await client.call("updateVariableSet", { params: { id: zone.id }, body });
    const claimed = await runner.call("claimJob");
    expect(claimed.job.config_snapshot).toMatchObject({
      variables: {
        own: { value: "own" },
        b: { value: "a" },
        a: { value: "a" },
        zone: { value: "zone" },
      },
      environment: { OWN: "own", ZONE_TOKEN: "s3cret" },
      sensitive_environment: ["ZONE_TOKEN"],
      set_variables: ["b", "a", "zone"],
    });
    expect(job.config_snapshot).not.toHaveProperty("set_variables");
    expect(Object.keys(claimed.job.config_snapshot)).not.toContain("variable_sets");
  });

  it("has a plan that is stale after a change of a set, and not after one without effect", async ({
    client,
    configure,
    make,
    plan,
    runner,
  }) => {
    const { id } = await configure({ variables: { own: { value: 1 } } });
    const before = await plan(id);
    const variables = { region: { value: "eu", sensitive: true }, own: { value: 2 } };
    const set = await make({ variables, configuration_ids: [id] });
    const params = { id: set.id };
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: before, body: { status: "SUCCESS" } });
    await addArtifact(plane.context.store, before.id);
    const deploy = (plan_job_id: string) => ({
      body: { job_type: "DEPLOY" as const, configuration_id: id, plan_job_id },
    });
    expect(await client.refusal("createJob", deploy(before.id))).toBe("409 plan_is_stale");
    const planned = await plan(id);
    expect(planned.config_hash).not.toBe(before.config_hash);
    const own = { region: { sensitive: true }, own: { value: 3 } };
    await client.call("updateVariableSet", { params, body: { variables: own, name: "renamed" } });
    expect((await plan(id)).config_hash).toBe(planned.config_hash);
    const other = { region: { value: "us", sensitive: true } };
    await client.call("updateVariableSet", { params, body: { variables: other } });
    expect((await plan(id)).config_hash).not.toBe(planned.config_hash);
    await client.call("detachFromConfiguration", { params: { ...params, configuration_id: id } });
    expect((await plan(id)).config_hash).toBe(before.config_hash);
  });

  it("is refused with the name of a set that no key opens", async ({ client, configure, make }) => {
    const { id } = await configure();
    const variables = { password: { value: "x", sensitive: true } };
    const set = await make({ name: "shared secrets", variables, configuration_ids: [id] });
    const box = secretBox(["another".padEnd(40)], "variables");
    const sealed = box.seal(Buffer.from('"x"'), `${set.id}/password`).toString("base64");
    const definition = JSON.stringify({ variables: { password: { sensitive: true, sealed } } });
    await setRows(plane, "variable_sets", { definition }, { id: set.id });
    const job = { body: { job_type: "PLAN" as const, configuration_id: id } };
    await expect(client.call("createJob", job)).rejects.toThrow(
      /^variable set "shared secrets": variables.password cannot be decrypted/,
    );
  });
});
