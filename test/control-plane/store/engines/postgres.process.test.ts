import { beforeAll, describe, expect, it } from "vitest";
import { sql } from "kysely";
import { knownSchema } from "../../../../control-plane/store/migrate.ts";
import type { Queries } from "../../../../control-plane/store/db.ts";
import { PostgresChannel } from "../../../../control-plane/store/engines/postgres-channel.ts";
import {
  openPostgres,
  openPostgresBeside,
  type PostgresStore,
} from "../../../../control-plane/store/engines/postgres.ts";
import { Connection } from "../../../../control-plane/store/engines/sqlite-connection.ts";
import { migrate } from "../../../../control-plane/store/migrate.ts";
import type { JobRow } from "../../../../control-plane/domain/job.ts";
import type { WorkerRow } from "../../../../control-plane/domain/worker.ts";
import {
  claimOwnJob,
  claimOwnJobLeft,
  type ClaimRow,
} from "../../../../control-plane/store/claims/claims.ts";
import { claimOwnJobs } from "../../../../control-plane/store/claims/claims-together.ts";
import { findJob } from "../../../../control-plane/store/jobs/jobs.ts";
import { addJob, addOwner, addSpec, addWorker } from "../../../helpers/plane/rows.ts";
import { command } from "../../../helpers/store/postgres.ts";
import { postgresForFile } from "../../../helpers/store/postgres-for-file.ts";
import { storeContract } from "./contract.ts";

const postgres = postgresForFile();

const connections = 8;

/** Closes the stores and returns how often changes waited for each other in a circle. */
async function closeAndCountDeadlocks(url: string, stores: readonly PostgresStore[]) {
  await Promise.all(stores.map((store) => store.close()));
  // A connection reports what it counted when it ends, or seconds later.
  const count = async (text: string) => {
    const { rows } = await command(url, text);
    return (rows as { count: number }[])[0]!.count;
  };
  const others = `select count(*)::int as count from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`;
  await expect.poll(() => count(others)).toBe(0);
  return count(
    "select deadlocks::int as count from pg_stat_database where datname = current_database()",
  );
}

describe("with one database for all", () => {
  let url: string;
  beforeAll(async () => {
    if (postgres.lack === undefined) url = await postgres.server.createMigrated();
  });

  storeContract("PostgreSQL", async () => {
    const store = await openPostgres({ url, connections });
    return {
      store,
      remove: async () => {
        await store.close();
        await command(url, "truncate spaces, users, queue_heads, log_chunks cascade");
      },
    };
  });
});

describe("the schema on PostgreSQL", () => {
  it("has the tables, columns and indexes of the one on SQLite", async () => {
    const connection = new Connection(":memory:", {});
    connection.database.unsafeMode(true);
    await migrate(connection.sql, {
      begin: () => connection.execute("begin"),
      commit: () => connection.execute("commit"),
      rollback: () => connection.execute("rollback"),
    });
    const onSqlite = connection.database
      .prepare(
        `select m.name as "table", c.name, c."notnull" as required from sqlite_schema m, pragma_table_info(m.name) c
          where m.type = 'table' and m.name not like 'sqlite_%'`,
      )
      .all() as { table: string; name: string; required: number }[];
    const indexesOnSqlite = connection.database
      .prepare("select name from sqlite_schema where type = 'index' and sql is not null")
      .pluck()
      .all() as string[];
    connection.database.close();

    const url = await postgres.server.createMigrated();
    const columns = await command(
      url,
      `select table_name, column_name, is_nullable, data_type, collation_name
        from information_schema.columns where table_schema = 'public'`,
    );
    const rows = columns.rows as Record<
      "table_name" | "column_name" | "is_nullable" | "data_type" | "collation_name",
      string
    >[];
    const listed = (lines: string[]) => lines.toSorted();
    expect(listed(rows.map((row) => `${row.table_name}.${row.column_name}`))).toEqual(
      listed(onSqlite.map(({ table, name }) => `${table}.${name}`)),
    );
    // SQLite does not say it of a primary key.
    const required = new Set(
      rows
        .filter((row) => row.is_nullable === "NO")
        .map((row) => `${row.table_name}.${row.column_name}`),
    );
    expect(
      onSqlite.filter(
        ({ table, name, required: is }) => is === 1 && !required.has(`${table}.${name}`),
      ),
    ).toEqual([]);
    const ofText = rows.filter((row) => row.data_type === "text");
    expect(ofText.filter((row) => row.collation_name !== "C")).toEqual([]);

    const indexes = await command(
      url,
      `select indexname from pg_indexes where schemaname = 'public'
        and indexname not in (select conname from pg_constraint)`,
    );
    const names = (indexes.rows as { indexname: string }[]).map(({ indexname }) => indexname);
    // Two of SQLite's hold a part of a long value, so that the rest is not read.
    const missing = new Set(["plan_summaries_counts", "job_snapshots_name"]);
    expect(listed(names)).toEqual(
      listed([...indexesOnSqlite.filter((name) => !missing.has(name)), "queue_heads_job"]),
    );
  });

  it("has triggers that see all rows, whichever role changes a row", async () => {
    const { rows } = await command(
      await postgres.server.createMigrated(),
      `select proname from pg_proc where prorettype = 'trigger'::regtype
        and pronamespace = 'public'::regnamespace and not prosecdef`,
    );
    expect(rows).toEqual([{ proname: "audit_entries_only_added" }]);
  });

  it("is created once by processes that start together", async () => {
    const url = await postgres.server.create();
    const stores = await Promise.all([1, 2, 3].map(() => openPostgres({ url, connections: 3 })));
    const { rows } = await sql<{ version: number }>`select version from schema_version`.execute(
      stores[0]!.read.sql,
    );
    expect(rows).toEqual([{ version: knownSchema }]);
    await Promise.all(stores.map((store) => store.close()));
  });

  it("of a newer release is refused and left unchanged", async () => {
    const url = await postgres.server.createMigrated();
    await command(url, "update schema_version set version = 999, compatible_since = 998");
    await expect(openPostgres({ url, connections: 3 })).rejects.toThrow(/newer Windlass/);
    expect((await command(url, "select version from schema_version")).rows).toEqual([
      { version: 999 },
    ]);
  });

  it("of a newer release is used if that release says so", async () => {
    const url = await postgres.server.createMigrated();
    const compatible = `update schema_version set version = 999, compatible_since = ${knownSchema}`;
    await command(url, compatible);
    const options = { url, connections: 3 };
    for (const open of [openPostgres, openPostgresBeside]) await (await open(options)).close();
    expect((await command(url, "select version from schema_version")).rows).toEqual([
      { version: 999 },
    ]);
  });

  it("is not migrated beside a running server that could not use it", async () => {
    const url = await postgres.server.createMigrated();
    await command(url, "update schema_version set version = 7");
    const running = await PostgresChannel.open(url, "windlass");
    await expect(openPostgres({ url, connections: 3 })).rejects.toThrow(
      /servers of an older Windlass run on this database \(schema 7\).*stop all of them/,
    );
    expect((await command(url, "select version from schema_version")).rows).toEqual([
      { version: 7 },
    ]);
    await running.close();
  });

  it("may get columns while a server uses it", async () => {
    const url = await postgres.server.createMigrated();
    const store = await openPostgres({ url, connections });
    const owner = await addOwner(store);
    const { id } = await addJob(store, owner);
    const read = () => store.read.first(findJob, { id });
    const inTransaction = (tx: Queries) => tx.first(findJob, { id });
    const before = await read();
    for (const column of ["one", "two"]) {
      // Every connection has the statement prepared.
      await Promise.all(Array.from({ length: 2 * connections }, read));
      for (const way of ["write", "share"] as const) {
        await Promise.all(Array.from({ length: connections }, () => store[way](inTransaction)));
        await command(url, `alter table jobs add column ${column}_${way} text`);
        const all = await Promise.all([
          ...Array.from({ length: connections }, () => store[way](inTransaction)),
          read(),
        ]);
        for (const row of all) expect(row).toMatchObject({ ...before });
      }
    }
    await store.close();
  });

  it("is migrated by one role and used by another, which may change rows only", async () => {
    const ownerUrl = await postgres.server.create();
    await command(ownerUrl, "create role runner login");
    const url = ownerUrl.replace("user=windlass", "user=runner");
    const options = { url, ownerUrl, connections: 3 };
    const [store, other] = await Promise.all([openPostgres(options), openPostgres(options)]);
    await other.close();
    const owner = await addOwner(store);
    await addJob(store, owner);
    await store.close();
    await command(
      url,
      `insert into audit_entries (id, action, actor_kind, details, created_at) values ('a', 'x', 'system', '{}', 1)`,
    );
    for (const refused of [
      "update audit_entries set action = 'y'",
      "update schema_version set version = 1",
      "alter table jobs add column more text",
      "create table more (id text)",
    ])
      await expect(command(url, refused)).rejects.toThrow(/permission denied|must be owner/);
    // Later it starts without the other role.
    await (await openPostgres({ url, connections: 3 })).close();
  });

  it("keeps audit entries as they were written", async () => {
    const url = await postgres.server.createMigrated();
    await command(
      url,
      `insert into audit_entries (id, action, actor_kind, details, created_at) values ('a', 'x', 'system', '{}', 1)`,
    );
    for (const change of [
      "update audit_entries set action = 'y'",
      "delete from audit_entries",
      "truncate audit_entries",
    ])
      await expect(command(url, change)).rejects.toThrow(/only added/);
  });
});

describe("changes of single rows", () => {
  it("share a transaction if they come together, and each stands or falls alone", async () => {
    const store = await openPostgres({
      url: await postgres.server.createMigrated(),
      connections: 3,
    });
    const owner = await addOwner(store);
    const ids = await Promise.all(Array.from({ length: 5 }, () => addSpec(store, owner)));
    const set = (id: string, updated_at: number, failing?: string) =>
      store.share(
        async ({ sql: db }) => {
          await db.updateTable("specs").set({ updated_at }).where("id", "=", id).execute();
          if (id === failing) throw new Error("half way");
        },
        { row: id },
      );
    const count = async () =>
      (
        await sql<{ transactions: number; changed: number }>`select count(*) as changed,
          count(distinct xmin::text) as transactions from specs where updated_at = 7`.execute(
          store.read.sql,
        )
      ).rows[0];
    await Promise.all(ids.map((id) => set(id, 7)));
    expect(await count()).toEqual({ transactions: 1, changed: 5 });
    const outcomes = await Promise.allSettled(ids.map((id) => set(id, 8, ids[2])));
    expect(outcomes.map(({ status }) => status === "fulfilled")).toEqual(
      ids.map((id) => id !== ids[2]),
    );
    expect(await count()).toMatchObject({ changed: 1 });
    await store.close();
  });

  it("of several processes never wait for each other in a circle", async () => {
    const url = await postgres.server.createMigrated();
    const stores = await Promise.all([1, 2].map(() => openPostgres({ url, connections: 3 })));
    const owner = await addOwner(stores[0]!);
    const ids = await Promise.all(Array.from({ length: 8 }, () => addSpec(stores[0]!, owner)));
    const add = (store: PostgresStore, id: string) =>
      store.share(
        async ({ sql: db }) => {
          const change = db.updateTable("specs").where("id", "=", id);
          await change.set((set) => ({ updated_at: set("updated_at", "+", 1) })).execute();
        },
        { row: id },
      );
    const rounds = 30;
    for (let round = 0; round < rounds; round += 1)
      await Promise.all([
        ...ids.map((id) => add(stores[0]!, id)),
        ...ids.toReversed().map((id) => add(stores[1]!, id)),
      ]);
    const { rows } = await sql<{ updated_at: number }>`select updated_at - created_at as updated_at
      from specs`.execute(stores[0]!.read.sql);
    expect(new Set(rows.map(({ updated_at }) => updated_at))).toEqual(new Set([2 * rounds]));
    expect(await closeAndCountDeadlocks(url, stores)).toBe(0);
  });
});

describe("claims by several processes", () => {
  const raceRounds = 10;
  type RaceParams = Readonly<Record<"owner" | "lifted", string> & { now: number }>;

  /** Each worker has one of the label sets in turn; what it takes ends before the next claims. */
  async function race(
    labelSets: readonly string[],
    jobs: readonly Partial<JobRow>[],
    claimBy: (
      tx: Queries,
      params: RaceParams,
      worker: WorkerRow,
      n: number,
    ) => Promise<ClaimRow | undefined>,
  ) {
    const url = await postgres.server.createMigrated();
    const stores = await Promise.all([1, 2].map(() => openPostgres({ url, connections })));
    const owner = await addOwner(stores[0]!);
    const specs = [await addSpec(stores[0]!, owner), await addSpec(stores[0]!, owner)];
    const workers: WorkerRow[] = [];
    for (let n = 0; n < 8; n += 1)
      workers.push(
        await addWorker(stores[0]!, owner, { labels: labelSets[n % labelSets.length]! }),
      );
    const params = { owner: owner.id, now: 5, lifted: "" };
    const claim = (worker: WorkerRow, n: number) =>
      stores[Math.floor(n / 4)]!.share((tx) => claimBy(tx, params, worker, n));
    const taken: string[] = [];
    const classesOf: (readonly number[])[] = [];
    for (let round = 0; round < raceRounds; round += 1) {
      for (const spec_id of specs)
        for (const job of jobs) await addJob(stores[0]!, owner, { ...job, spec_id });
      for (let left = jobs.length; left > 0; left -= 1) {
        const found = await Promise.all(workers.map(claim));
        const ids = found.flatMap((job) => (job ? [job.id] : []));
        taken.push(...ids);
        const rows = await Promise.all(ids.map((id) => stores[0]!.read.first(findJob, { id })));
        classesOf.push(rows.map((row) => row!.queue_class));
        expect(new Set(rows.map((row) => row!.spec_id)).size).toBe(ids.length);
        await command(
          url,
          "update jobs set status = 'SUCCESS', released_at = 6, ended_at = 6 where status = 'PROCESSING'",
        );
      }
      // What a statement that skips locked heads has left to the next.
      await command(
        url,
        "update jobs set status = 'CANCELLED', released_at = 6, ended_at = 6 where status = 'QUEUED'",
      );
    }
    const { rows } = await command(url, "select max(attempt) as most from jobs");
    return {
      deadlocks: await closeAndCountDeadlocks(url, stores),
      takenTwice: taken.length - new Set(taken).size,
      mostAttempts: (rows as { most: number }[])[0]!.most,
      count: taken.length,
      classesOf,
    };
  }

  const ofClasses = ([2, 1, 0] as const).map((queue_class) => ({ queue_class }));

  const claimAlone = (tx: Queries, params: RaceParams, { id: worker }: WorkerRow) =>
    tx.first(claimOwnJob, { ...params, claim_key: null, worker });

  it("take the jobs of a configuration by class, without a deadlock", async () => {
    const { classesOf, count, ...outcome } = await race(
      ["[]"],
      ofClasses,
      async (tx, params, worker) =>
        (await claimAlone(tx, params, worker)) ??
        tx.first(claimOwnJobLeft, { ...params, claim_key: null, worker: worker.id }),
    );
    expect(outcome).toEqual({ deadlocks: 0, takenTwice: 0, mostAttempts: 1 });
    expect(count).toBe(raceRounds * 2 * 3);
    const eachRound = [0, 1, 2].map((queue_class) => [queue_class, queue_class]);
    expect(classesOf).toEqual(Array.from({ length: raceRounds }, () => eachRound).flat());
  });

  const claimTogether = (tx: Queries, params: RaceParams, { id: worker, labels }: WorkerRow) =>
    tx.first(claimOwnJobs, {
      ...params,
      claims: JSON.stringify([{ n: 0, worker, key: null }]),
      labels,
      features: "[]",
      after: 0,
      heads: 20,
    });

  it.each([
    ["one by one", claimAlone],
    ["together", claimTogether],
  ])(
    "of workers with different labels, %s, take jobs of a configuration without a deadlock",
    async (_, claimBy) => {
      const labels = ['["a"]', '["b"]', '["c"]', "[]"];
      const jobs = labels.map((its) => ({ labels: its }));
      const { deadlocks, takenTwice, mostAttempts } = await race(labels, jobs, claimBy);
      expect({ deadlocks, takenTwice, mostAttempts }).toEqual({
        deadlocks: 0,
        takenTwice: 0,
        mostAttempts: 1,
      });
    },
  );
});

describe("several processes on one database", () => {
  it("change it one after the other, whatever they read before", async () => {
    const url = await postgres.server.createMigrated();
    const stores = await Promise.all([1, 2, 3].map(() => openPostgres({ url, connections: 4 })));
    const owner = await addOwner(stores[0]!);
    const id = await addSpec(stores[0]!, owner);
    const increments = 40;
    await Promise.all(
      Array.from({ length: increments }, (_, index) =>
        stores[index % stores.length]!.write(async (tx) => {
          const spec = await tx.sql
            .selectFrom("specs")
            .select("updated_at")
            .where("id", "=", id)
            .executeTakeFirstOrThrow();
          await tx.sql
            .updateTable("specs")
            .set({ updated_at: spec.updated_at + 1 })
            .where("id", "=", id)
            .execute();
        }),
      ),
    );
    const { updated_at } = await stores[0]!.read.sql
      .selectFrom("specs")
      .select("updated_at")
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    expect(updated_at).toBe(1 + increments);
    await Promise.all(stores.map((store) => store.close()));
  });
});

it("a database that is away fails changes and reads with a code, and is used again when it is back", async () => {
  const url = await postgres.server.createMigrated();
  const store = await openPostgres({ url, connections });
  const owner = await addOwner(store);
  await postgres.server.kill();
  await expect(addJob(store, owner)).rejects.toMatchObject({ code: "STORE_UNREACHABLE" });
  await expect(store.read.sql.selectFrom("jobs").select("id").execute()).rejects.toMatchObject({
    code: "STORE_UNREACHABLE",
  });
  await postgres.server.restart();
  await addJob(store, owner);
  await store.close();
});

it("a password is in no message", async () => {
  const url = "postgres://windlass:s3cret@127.0.0.1:1/windlass";
  await expect(openPostgres({ url, connections: 3 })).rejects.toThrow(
    expect.not.stringContaining("s3cret"),
  );
});
