import { hash, randomUUID } from "node:crypto";
import canonicalize from "canonicalize";
import { describe, expect } from "vitest";
import { setJob, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  addArtifact,
  addJob,
  addRows,
  addState as addStateRow,
} from "../../../helpers/plane/rows.ts";

const source = { type: "inline" as const, files: { "main.tf": "" } };

const { plane, it: base } = planeForFile();
const it = base.extend(
  "configure",
  ({ client, owner }) =>
    (more: object = {}) =>
      client.call("createConfiguration", {
        body: { name: randomUUID(), zone_id: owner.zone, source, ...more },
      }),
);

/** Adds a version of the managed state that records this many resources. */
const addState = async (spec_id: string, resources: number) => {
  const { blob } = await plane.context.blobs.write(
    (async function* () {
      yield Buffer.from("{}");
    })(),
    10,
  );
  await addStateRow(plane.context.store, { spec_id, resource_count: resources, blob });
};

describe("an update of a configuration", () => {
  it("changes the given fields and leaves the others", async ({ client, configure }) => {
    const before = await configure({ environment: { A: "1" }, labels: ["x"], timeout_seconds: 60 });
    const after = await client.call("updateConfiguration", {
      params: { name: before.id },
      body: { name: "renamed", engine_version: "~> 1.9" },
    });
    expect(after).toEqual({
      ...before,
      name: "renamed",
      engine_version: "~> 1.9",
      updated_at: after.updated_at,
    });
  });

  it("keeps its origin, which is shown and is not part of a job", async ({ client, configure }) => {
    const made = await configure({ origin: "git.example.com/acme/infra//network" });
    const params = { name: made.id };
    const plan = () =>
      client.call("createJob", { body: { job_type: "PLAN", configuration_id: made.id } });
    const first = await plan();
    expect(first.config_snapshot).not.toHaveProperty("origin");
    expect(made.origin).toBe("git.example.com/acme/infra//network");
    await client.call("updateConfiguration", { params, body: { engine_version: null } });
    expect((await client.call("getConfiguration", { params })).origin).toBe(made.origin);
    const origin = randomUUID();
    const adopted = await client.call("updateConfiguration", { params, body: { origin } });
    expect(adopted.origin).toBe(origin);
    expect((await plan()).config_hash).toBe(first.config_hash);
  });

  it("keeps a sensitive variable that is given without a value, and never returns its value", async ({
    client,
    configure,
    runner,
  }) => {
    const variables = {
      secret: { value: "s3cret", sensitive: true },
      gone: { value: 1 },
      plain: { value: 2 },
    };
    const { name, id } = await configure({ variables });
    const params = { name };
    const change = { secret: { sensitive: true }, plain: { value: 3 }, more: { value: [1] } };
    const after = await client.call("updateConfiguration", { params, body: { variables: change } });
    expect(after.variables).toEqual({ ...change });
    await client.call("createJob", { body: { job_type: "PLAN", configuration_id: id } });
    const { job } = await runner.call("claimJob");
    expect(job.config_snapshot.variables).toEqual({
      ...change,
      secret: { value: "s3cret", sensitive: true },
    });
    for (const secret of [{ sensitive: false }, undefined])
      expect(
        await client.refusal("updateConfiguration", {
          params,
          body: { variables: secret ? { secret } : { unknown: {} } },
        }),
      ).toBe("400 invalid_request");
  });

  it("keeps secrets of the environment without a value", async ({ client, configure, runner }) => {
    const { name, id } = await configure({
      environment: { A_TOKEN: "one", PIN: { value: "two", sensitive: true }, PLAIN: "three" },
    });
    const params = { name };
    const update = (environment: object) =>
      client.ask("updateConfiguration", { params, body: { environment } as never });
    await update({
      A_TOKEN: {},
      PIN: "new",
      PLAIN: {},
      B_KEY: { value: "four", sensitive: false },
    });
    await client.call("createJob", { body: { job_type: "PLAN", configuration_id: id } });
    const { job } = await runner.call("claimJob");
    expect(job.config_snapshot).toMatchObject({
      environment: { A_TOKEN: "one", PIN: "new", PLAIN: "three", B_KEY: "four" },
      sensitive_environment: ["A_TOKEN", "PIN"],
    });
    const refused = { params, body: { environment: { A_TOKEN: { sensitive: false } } } };
    expect(await client.refusal("updateConfiguration", refused)).toBe("400 invalid_request");
  });

  it("gives equal values equal hashes that cannot be computed without the server's key", async ({
    client,
    configure,
  }) => {
    const { id } = await configure({ variables: { pin: { value: "1234", sensitive: true } } });
    const body = { job_type: "PLAN" as const, configuration_id: id };
    const { config_hash, config_snapshot } = await client.call("createJob", { body });
    const tried = {
      ...config_snapshot,
      variables: { pin: { value: "1234", sensitive: true } },
    };
    expect(config_hash).not.toBe(hash("sha256", canonicalize(tried) ?? "", "hex"));
    const set = (value: string) =>
      client.call("updateConfiguration", {
        params: { name: id },
        body: { variables: { pin: { value, sensitive: true } } },
      });
    await set("4321");
    expect((await client.call("createJob", { body })).config_hash).not.toBe(config_hash);
    await set("1234");
    expect((await client.call("createJob", { body })).config_hash).toBe(config_hash);
  });

  it("accepts only git URLs that a runner can fetch", async ({ client, configure }) => {
    const { name } = await configure();
    const update = (url: string) => ({
      params: { name },
      body: { source: { type: "git" as const, url } },
    });
    for (const url of [
      "https://a.example/b.git",
      "ssh://git@a.example/b",
      "git@a.example:b/c.git",
      "http://a.example/b",
    ])
      expect((await client.call("updateConfiguration", update(url))).source).toEqual({
        type: "git",
        url,
      });
    for (const url of [
      "file:///etc",
      "ftp://a.example/b",
      "not a url",
      "https://a.example",
      "https://me:secret@a.example/b",
      "https://ghp_0123456789abcdef@github.com/a/b",
      "ext::sh -c id",
      "-upload-pack=x",
    ])
      expect(await client.refusal("updateConfiguration", update(url))).toBe("400 invalid_request");
  });

  it("accepts only engine versions that runners can read", async ({ client, configure, owner }) => {
    const { id, name } = await configure({ engine_version: "~> 1.9, != 1.9.3" });
    const params = { name };
    const message =
      'engine_version "abc" is not valid: "abc" is not a version, with or without one of = != > >= < <= ~> before it; write for example "~> 1.11.0", or ">= 1.9, < 2.0"';
    const body = { name: randomUUID(), zone_id: owner.zone, source, engine_version: "abc" };
    await expect(client.ask("createConfiguration", { body })).rejects.toMatchObject({
      status: 400,
      message,
    });
    const change = { params, body: { engine_version: "abc" } };
    expect(await client.refusal("updateConfiguration", change)).toBe("400 invalid_request");

    const definition = JSON.stringify({ source, engine: "terraform", engine_version: "abc" });
    await setRows(plane, "specs", { definition }, { id });
    const again = { engine_version: "abc", labels: ["eu"] };
    expect(await client.call("updateConfiguration", { params, body: again })).toMatchObject(again);
    const mended = { engine_version: "~> 1.9" };
    expect(await client.call("updateConfiguration", { params, body: mended })).toMatchObject(
      mended,
    );
  });

  it("refuses a git ref and directories that no runner can use, and keeps those of before", async ({
    client,
    configure,
    owner,
  }) => {
    const git = { type: "git" as const, url: "https://git.example.com/acme/infra.git" };
    const refused = [
      [{ source: { ...git, ref: "--upload-pack=x" } }, "body.source.ref"],
      [{ source: { ...git, ref: "a..b" } }, "body.source.ref"],
      [{ source: { ...git, path: "../.." } }, "body.source.path"],
      [{ source: { ...git, path: "a" }, working_directory: "../../b" }, "body.working_directory"],
      [{ source, working_directory: ".." }, "body.working_directory"],
    ] as const;
    const { id, name } = await configure({
      source: { ...git, path: "a" },
      working_directory: "..",
    });
    const params = { name };
    const job = { job_type: "PLAN" as const, configuration_id: id };
    for (const [more, path] of refused) {
      const problem = { status: 400, problem: { errors: [{ path }] } };
      const body = { name: randomUUID(), zone_id: owner.zone, ...more };
      await expect(client.ask("createConfiguration", { body })).rejects.toMatchObject(problem);
      const change = { params, body: more };
      await expect(client.ask("updateConfiguration", change)).rejects.toMatchObject(problem);
      const plan = { body: { ...job, ...more } };
      await expect(client.ask("createJob", plan)).rejects.toMatchObject(problem);
    }
    const alone = { params, body: { working_directory: "../.." } };
    expect(await client.refusal("updateConfiguration", alone)).toBe("400 invalid_request");

    const stored = { source: { ...git, ref: "-x" }, engine: "terraform" };
    await setRows(plane, "specs", { definition: JSON.stringify(stored) }, { id });
    const again = { source: stored.source, labels: ["eu"] };
    expect(await client.call("updateConfiguration", { params, body: again })).toMatchObject(again);
  });

  it("makes earlier plans stale until it is restored", async ({ owner, client, configure }) => {
    const { id } = await configure();
    const made = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: id },
    });
    const plan = await addJob(plane.context.store, owner, {
      status: "SUCCESS",
      spec_id: id,
      config_hash: made.config_hash,
    });
    await addArtifact(plane.context.store, plan.id);
    const deploy = {
      body: { job_type: "DEPLOY" as const, configuration_id: id, plan_job_id: plan.id },
    };
    await client.call("updateConfiguration", {
      params: { name: id },
      body: { engine: "opentofu" },
    });
    expect(await client.refusal("createJob", deploy)).toBe("409 plan_is_stale");
    await client.call("updateConfiguration", {
      params: { name: id },
      body: { engine: "terraform" },
    });
    expect((await client.call("createJob", deploy)).status).toBe("QUEUED");
  });

  it("restores the former hash when submodules are switched on and off again", async ({
    client,
    configure,
    runner,
  }) => {
    const { id } = await configure({ source: { type: "git", url: "https://example.com/a.git" } });
    const body = { job_type: "PLAN" as const, configuration_id: id };
    const { config_hash } = await client.call("createJob", { body });
    const update = (submodules: boolean) =>
      client.call("updateConfiguration", { params: { name: id }, body: { submodules } });
    expect((await update(true)).submodules).toBe(true);
    const asked = await client.call("createJob", { body });
    expect(asked.config_hash).not.toBe(config_hash);
    expect(await update(false)).not.toHaveProperty("submodules");
    expect((await client.call("createJob", { body })).config_hash).toBe(config_hash);
    const { job } = await runner.call("claimJob");
    expect(job.config_snapshot).not.toHaveProperty("submodules");
  });

  it("that clears the backend needs a state without resources", async ({ client, configure }) => {
    const { id, ...made } = await configure();
    expect(made).not.toHaveProperty("backend");
    const snapshot = async () => {
      const body = { job_type: "PLAN" as const, configuration_id: id };
      return (await client.call("createJob", { body })).config_snapshot?.backend;
    };
    expect(await snapshot()).toBeUndefined();
    const choose = (backend: "managed" | "own" | null) =>
      client.call("updateConfiguration", { params: { name: id }, body: { backend } });
    expect((await choose("managed")).backend).toBe("managed");
    expect(await snapshot()).toBe("managed");
    expect(await choose(null)).not.toHaveProperty("backend");
    await addState(id, 1);
    expect(await snapshot()).toBe("managed");
  });

  it("is refused for the same reasons as a new configuration", async ({
    client,
    configure,
    otherOwner,
    otherClient,
  }) => {
    const taken = await configure();
    const { name } = await configure();
    const refusal = (body: object) =>
      client.refusal("updateConfiguration", { params: { name }, body });
    expect(await refusal({ name: taken.name })).toBe("409 name_taken");
    expect(await refusal({ project_name: taken.project_name })).toBe("409 name_taken");
    expect(await refusal({ zone_id: otherOwner.zone })).toBe("404 not_found");
    expect(await refusal({ cloud_identity_id: randomUUID() })).toBe("404 not_found");
    expect(await refusal({ environment: { LD_PRELOAD: "x" } })).toBe(
      "400 forbidden_environment_name",
    );
    expect(await refusal({ source: { type: "archive", sha256: "0".repeat(64) } })).toBe(
      "400 invalid_request",
    );
    expect(await refusal({ colour: "red" })).toBe("400 invalid_request");
    const params = { name: taken.id };
    expect(await otherClient.refusal("updateConfiguration", { params, body: {} })).toBe(
      "404 not_found",
    );
    expect(await otherClient.refusal("deleteConfiguration", { params })).toBe("404 not_found");
  });
});

describe("a configuration", () => {
  it("is not deleted before its jobs are over, and keeps them", async ({ client, configure }) => {
    const { name, id } = await configure();
    const job = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: id },
    });
    const params = { name };
    await expect(client.call("deleteConfiguration", { params })).rejects.toMatchObject({
      code: "configuration_busy",
      message: expect.stringMatching(/^the \w+ of ".+" \(job [\w-]+\) has (not )?ended/),
    });
    await client.call("cancelJob", { params: { id: job.id } });
    await client.call("deleteConfiguration", { params });
    expect(await client.refusal("getConfiguration", { params })).toBe("404 not_found");
    const kept = await client.call("getJob", { params: { id: job.id } });
    expect(kept).toMatchObject({ status: "CANCELLED", configuration_id: null });
  });

  it("is not deleted or moved while its state records resources", async ({ client, configure }) => {
    const { name, id } = await configure();
    const params = { name };
    const before = await plane.blobs();
    await addState(id, 2);
    expect(await client.refusal("deleteConfiguration", { params })).toBe(
      "409 configuration_not_empty",
    );
    const body = { backend: "own" as const };
    expect(await client.refusal("updateConfiguration", { params, body })).toBe(
      "409 configuration_not_empty",
    );
    await addState(id, 0);
    expect(await plane.blobs()).toBe(before + 2);
    await client.call("deleteConfiguration", { params });
    expect(await plane.blobs()).toBe(before);
  });

  it("is deleted with resources only by the serial of its state", async ({ client, configure }) => {
    const { name, id } = await configure();
    const params = { name };
    const deleteAt = (serial: number) => ({ params, query: { keep_resources_of: serial } });
    expect(await client.refusal("deleteConfiguration", deleteAt(1))).toBe("409 state_conflict");
    await addState(id, 2);
    const { serial } = (await client.call("listStateVersions", { params })).state_versions[0]!;
    expect(await client.refusal("deleteConfiguration", deleteAt(serial + 1))).toBe(
      "409 state_conflict",
    );
    await client.call("deleteConfiguration", deleteAt(serial));
    expect(await client.refusal("getConfiguration", { params })).toBe("404 not_found");
    const { audit_entries } = await client.call("listAuditEntries", {
      query: { action: "configuration.delete" },
    });
    expect(audit_entries[0]).toMatchObject({ details: { kept_resources: 2 } });
  });

  it("cannot be deleted while a lost job holds its state lock", async ({
    owner,
    client,
    configure,
  }) => {
    const { name, id } = await configure();
    const lost = await addJob(plane.context.store, owner, { status: "FAILED", spec_id: id });
    await setJob(plane, lost, { released_at: 1 });
    const lock = { lock_id: "a", job_id: lost.id, info: "{}", created_at: 1 };
    await addRows(plane.context.store, "state_locks", { spec_id: id, ...lock });
    expect(await client.refusal("deleteConfiguration", { params: { name } })).toBe(
      "423 state_locked",
    );
  });
});
