import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect } from "vitest";
import { hour, mebibyte } from "../../../../common/units.ts";
import type { Context } from "../../../../control-plane/services/context.ts";
import { removeLoose, writingOf } from "../../../../control-plane/services/definitions.ts";
import { createJob as addJob } from "../../../../control-plane/services/jobs/jobs.ts";
import { inTurn, waitingLimit } from "../../../../control-plane/services/large-work.ts";
import { retainOnce } from "../../../../control-plane/services/storage/retention.ts";
import { updateVariableSet as updateSet } from "../../../../control-plane/services/variable-sets/variable-sets.ts";
import type { Queries } from "../../../../control-plane/store/db.ts";
import { setsLimit } from "../../../../protocol/variable-sets.ts";
import { callerOf } from "../../../helpers/people/caller.ts";
import { readRow, readRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

/** A sensitive variable of so many bytes. */
const secretOf = (bytes: number) => ({ value: "s".repeat(bytes), sensitive: true });
const source = { type: "inline" as const, files: { "main.tf": "" } };

const { plane, it: base } = planeForFile();
const it = base
  .extend(
    "configure",
    ({ client, owner }) =>
      (variables: Record<string, { value?: unknown; sensitive?: boolean }> = {}) =>
        client.call("createConfiguration", {
          body: { name: randomUUID(), zone_id: owner.zone, source, variables },
        }),
  )
  .extend(
    "make",
    ({ client }) =>
      (variables: Record<string, { value?: unknown; sensitive?: boolean }> = {}) =>
        client.call("createVariableSet", { body: { name: randomUUID(), variables } }),
  );

/** The context of the server, in which values are opened and sealed by `box`, in transactions or not. */
function watched(box: (inTransaction: boolean) => void): Context {
  const { context } = plane;
  const { store } = context;
  let depth = 0;
  const inside =
    <T>(change: (tx: Queries) => Promise<T>) =>
    async (tx: Queries) => {
      depth += 1;
      try {
        return await change(tx);
      } finally {
        depth -= 1;
      }
    };
  return {
    ...context,
    now: () => context.now(),
    publicUrl: () => context.publicUrl(),
    store: {
      isShared: store.isShared,
      hidesOtherSpaces: store.hidesOtherSpaces,
      read: store.read,
      write: (change) => store.write(inside(change)),
      share: (change, options) => store.share(inside(change), options),
      ahead: (change) => store.ahead(change),
      shrink: () => store.shrink(),
      walBytes: () => store.walBytes(),
      boundWal: () => store.boundWal(),
      close: () => store.close(),
    },
    box: (purpose) => {
      const found = context.box(purpose);
      if (purpose !== "variables") return found;
      return {
        ...found,
        seal: (...given) => (box(depth > 0), found.seal(...given)),
        open: (...given) => (box(depth > 0), found.open(...given)),
      };
    },
  };
}

describe("the variable sets of a zone or a configuration", () => {
  it("have 8 MiB together at most", async ({ client, configure, make, owner }) => {
    const [first, second] = [
      await make({ a: secretOf(3.5 * mebibyte) }),
      await make({ b: secretOf(3.5 * mebibyte) }),
    ];
    const { id: configuration_id } = await configure();
    const params = { id: first.id, configuration_id };
    await client.call("attachToConfiguration", { params });
    const more = { params: { ...params, id: second.id } };
    await expect(client.ask("attachToConfiguration", more)).rejects.toThrow(
      "the variable sets that are attached to the configuration would have 9.3 MiB of at most 8.0 MiB together: detach one or remove values",
    );
    // Those of the zone are counted apart.
    await client.call("attachToZone", { params: { id: second.id, zone_id: owner.zone } });
    const small = await make({ c: secretOf(1) });
    await client.call("attachToConfiguration", { params: { ...params, id: small.id } });
    const grown = { params: { id: small.id }, body: { variables: { c: secretOf(3 * mebibyte) } } };
    expect(await client.refusal("updateVariableSet", grown)).toBe("409 quota_exceeded");
    const body = { variables: { c: secretOf(2 * mebibyte) } };
    await client.call("updateVariableSet", { params: { id: small.id }, body });
    // Sets of more than 4 MiB together are refused.
    const job = { body: { job_type: "PLAN" as const, configuration_id } };
    expect(await client.refusal("createJob", job)).toBe("409 quota_exceeded");
  });

  it("have 1 MiB of environment each, counted in bytes of text", async ({ client, make }) => {
    const { id } = await make();
    const environment = Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => [`E${n}`, "é".repeat(32_768)]),
    );
    await client.call("updateVariableSet", { params: { id }, body: { environment } });
    const more = Object.fromEntries(
      Array.from({ length: 17 }, (_, n) => [`E${n}`, "é".repeat(32_768)]),
    );
    const refused = client.ask("updateVariableSet", {
      params: { id },
      body: { environment: more },
    });
    await expect(refused).rejects.toThrow("is larger than 1 MiB in total");
  });
});

it("a set is attached to all zones and configurations of a list with few statements", async ({
  client,
  configure,
  make,
  owner,
}) => {
  const ids: string[] = [];
  for (let n = 0; n < 60; n += 1) ids.push((await configure()).id);
  const set = await make();
  let statements = 0;
  const context = watched(() => undefined);
  const { store } = context;
  const write: typeof store.write = (change) =>
    store.write((tx) => {
      const counted: Queries = {
        sql: tx.sql.withPlugin({
          transformQuery: ({ node }) => ((statements += 1), node),
          transformResult: async ({ result }) => result,
        }),
        first: (...given) => ((statements += 1), tx.first(...given)),
        all: (...given) => ((statements += 1), tx.all(...given)),
        run: (...given) => ((statements += 1), tx.run(...given)),
      };
      return change(counted);
    });
  const given = { ...context, store: { ...store, write } };
  const update = { zone_ids: [owner.zone], configuration_ids: ids.map((id) => id.toUpperCase()) };
  const attached = await updateSet(given, callerOf(owner), set.id, update);
  expect(attached.configuration_ids).toEqual(ids.toSorted());
  expect(attached.zone_ids).toEqual([owner.zone]);
  expect(statements).toBeLessThan(20);
  const others = { ...update, configuration_ids: ids.slice(10) };
  const changed = await updateSet(given, callerOf(owner), set.id, others);
  expect(changed.configuration_ids).toEqual(ids.slice(10).toSorted());
  const unknown = { params: { id: set.id }, body: { configuration_ids: [randomUUID()] } };
  expect(await client.refusal("updateVariableSet", unknown)).toBe("404 not_found");
  for (let n = 0; n < setsLimit - 1; n += 1) {
    const body = { name: randomUUID(), configuration_ids: [ids[20]!] };
    await client.call("createVariableSet", { body });
  }
  const body = { name: randomUUID(), configuration_ids: ids.slice(0, 30) };
  expect(await client.refusal("createVariableSet", { body })).toBe("409 quota_exceeded");
});

describe("values of megabytes", () => {
  it("are opened and sealed before the transaction, and at a claim after it", async ({
    client,
    configure,
    make,
    owner,
    runner,
  }) => {
    const { id } = await make({ a: secretOf(mebibyte) });
    const spec = await configure({ own: secretOf(mebibyte) });
    await client.call("attachToConfiguration", { params: { id, configuration_id: spec.id } });
    const counts = { inside: 0, outside: 0 };
    const context = watched((isInside) => (counts[isInside ? "inside" : "outside"] += 1));
    const input = { job_type: "PLAN" as const, configuration_id: spec.id };
    await addJob(context, callerOf(owner), input);
    await updateSet(context, callerOf(owner), id, { variables: { a: secretOf(2 * mebibyte) } });
    expect(counts.outside).toBeGreaterThan(3);
    expect(counts.inside).toBe(0);
    const before = counts.outside;
    await updateSet(context, callerOf(owner), id, { name: randomUUID() });
    expect(counts.outside).toBe(before);
    const claimed = await runner.call("claimJob");
    expect(claimed.job.config_snapshot.variables).toMatchObject({
      a: secretOf(mebibyte),
      own: secretOf(mebibyte),
    });
  });

  it("of a change in between are the job's", async ({ client, configure, make, owner, runner }) => {
    const { id } = await make({ a: { value: "old", sensitive: true } });
    const spec = await configure();
    await client.call("attachToConfiguration", { params: { id, configuration_id: spec.id } });
    let changes: Promise<unknown> | undefined;
    const body = { variables: { a: { value: "new", sensitive: true } } };
    const context = watched(() => {
      changes ??= client.call("updateVariableSet", { params: { id }, body });
    });
    const { store } = context;
    const write: typeof store.write = async (change) => {
      await changes;
      return store.write(change);
    };
    const input = { job_type: "PLAN" as const, configuration_id: spec.id };
    await addJob({ ...context, store: { ...store, write } }, callerOf(owner), input);
    const claimed = await runner.call("claimJob");
    expect(claimed.job.config_snapshot.variables).toMatchObject({ a: { value: "new" } });
  });

  it("that keep changing are refused after five attempts", async ({ client, configure, owner }) => {
    const spec = await configure();
    const context = watched(() => undefined);
    const { store } = context;
    let attempts = 0;
    const write: typeof store.write = async (change) => {
      attempts += 1;
      const body = { variables: { n: { value: attempts } } };
      await client.call("updateConfiguration", { params: { name: spec.id }, body });
      return store.write(change);
    };
    const input = { job_type: "PLAN" as const, configuration_id: spec.id };
    const refused = addJob({ ...context, store: { ...store, write } }, callerOf(owner), input);
    await expect(refused).rejects.toThrow("was changed again and again meanwhile");
    // The first one may have made the key of the hashes.
    expect(attempts).toBeGreaterThanOrEqual(5);
    expect(attempts).toBeLessThanOrEqual(6);
  });
});

describe("a large definition", () => {
  /** What is stored of a configuration, a set or a job, and which definitions no row names. */
  const stored = async (...about: string[]) => {
    const found = await readRows(plane, "definitions");
    return {
      own: found.filter((row) => about.includes(row.about)),
      loose: await readRows(plane, "loose_definitions"),
    };
  };

  it("is a row of its own, which goes when it is replaced or what names it is deleted", async ({
    client,
    configure,
    make,
    runner,
  }) => {
    const set = await make({ a: secretOf(mebibyte) });
    const spec = await configure({ own: secretOf(mebibyte) });
    await client.call("attachToConfiguration", {
      params: { id: set.id, configuration_id: spec.id },
    });
    const body = { job_type: "PLAN" as const, configuration_id: spec.id };
    const job = await client.call("createJob", { body });
    const about = [set.id, spec.id, job.id];
    const before = await stored(...about);
    expect(before.loose).toEqual([]);
    expect(before.own.map((row) => row.about).toSorted()).toEqual(about.toSorted());
    for (const { bytes, content } of before.own) expect(bytes).toBe(Buffer.byteLength(content));
    const row = await readRow(plane, "specs", { id: spec.id });
    expect(row.definition.length).toBeLessThan(500);
    // Everything that reads it has the whole.
    const shown = { variables: { own: { sensitive: true } } };
    expect(await client.call("getConfiguration", { params: { name: spec.id } })).toMatchObject(
      shown,
    );
    expect(await client.call("getJob", { params: job })).toMatchObject({
      config_snapshot: { variables: { own: { sensitive: true }, a: { sensitive: true } } },
    });
    const params = { id: set.id };
    expect(await client.call("getVariableSet", { params })).toMatchObject({
      variables: { a: { sensitive: true } },
    });
    const { variable_sets } = await client.call("listVariableSets");
    expect(variable_sets).toMatchObject([{ variables: { a: { sensitive: true } } }]);
    await client.call("updateVariableSet", {
      params,
      body: { variables: { a: secretOf(2_000_000) } },
    });
    await client.call("updateVariableSet", { params, body: { name: "renamed" } });
    const after = await stored(set.id);
    expect(after.loose).toEqual([]);
    expect(after.own).toHaveLength(1);
    expect(after.own[0]!.bytes).toBeGreaterThan(2_000_000);
    const claimed = await runner.call("claimJob");
    expect(claimed.job.config_snapshot.variables).toMatchObject({ a: secretOf(mebibyte) });
    // Small values are in the row itself again, and retention removes what is left.
    const small = { variables: { own: { value: 1 } } };
    await client.call("updateConfiguration", { params: { name: spec.id }, body: small });
    const { definition } = await readRow(plane, "specs", { id: spec.id });
    expect(JSON.parse(definition)).toMatchObject(small);
    await client.call("detachFromConfiguration", {
      params: { id: set.id, configuration_id: spec.id },
    });
    await client.call("deleteVariableSet", { params });
    await retainOnce(plane.context);
    expect(await stored(set.id, spec.id)).toEqual({ own: [], loose: [] });
  });

  it("of a request that is refused, or of a server that crashed, is removed", async ({
    client,
    make,
    owner,
  }) => {
    const { name } = await make();
    const body = { name, variables: { a: secretOf(mebibyte) } };
    expect(await client.refusal("createVariableSet", { body })).toBe("409 name_taken");
    const all = await readRows(plane, "definitions");
    expect(await readRows(plane, "loose_definitions")).toEqual([]);
    const { context } = plane;
    const never = new Promise<never>(() => undefined);
    const sealed = { text: "x".repeat(mebibyte), short: {} };
    void writingOf(context, owner.id, sealed, () => never);
    await expect.poll(() => readRows(plane, "loose_definitions")).toHaveLength(1);
    await retainOnce(context);
    expect(await readRows(plane, "definitions")).toHaveLength(all.length + 1);
    await removeLoose({ store: context.store, now: () => context.now() + 2 * hour });
    expect(await readRows(plane, "definitions")).toEqual(all);
    expect(await readRows(plane, "loose_definitions")).toEqual([]);
  });
});

describe("turns", () => {
  it("go round the spaces, one piece of work of each at a time", async () => {
    const order: string[] = [];
    let together = 0;
    const work = (space: string) =>
      inTurn(space, mebibyte, async () => {
        together += 1;
        expect(together).toBeLessThanOrEqual(2);
        order.push(space);
        await nextTurn();
        together -= 1;
      });
    await Promise.all("aaaabbc".split("").map(work));
    expect(order.join("")).toBe("abcabaa");
  });

  it("are waited for by 32 requests of a space, and others go on", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = Array.from({ length: waitingLimit + 1 }, () =>
      inTurn("full", mebibyte, () => promise),
    );
    await expect(inTurn("full", mebibyte, () => promise)).rejects.toMatchObject({
      code: "too_many_requests",
    });
    expect(await inTurn("full", 1000, async () => "small")).toBe("small");
    expect(await inTurn("other", mebibyte, async () => "other")).toBe("other");
    resolve();
    await Promise.all(held);
  });
});
