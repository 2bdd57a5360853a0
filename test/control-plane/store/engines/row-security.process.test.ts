/**
 * Row security of PostgreSQL: queries for people find nothing of other spaces, even without a
 * condition on the owner. The server runs in a role that owns no table, as in production.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type pg from "pg";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgres } from "../../../../control-plane/store/engines/postgres.ts";
import { PostgresQueries } from "../../../../control-plane/store/engines/postgres-connection.ts";
import { asSystem, currentSpaces, inSpaces } from "../../../../control-plane/store/spaces.ts";
import type { Queries } from "../../../../control-plane/store/db.ts";
import { ask, startPlane, type Plane, type TestResponse } from "../../../helpers/plane/plane.ts";
import {
  asServer,
  command,
  lackOfPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../helpers/store/postgres.ts";
import { withRoutes, type ServedRoute } from "../../../helpers/plane/routes.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";
import { addTeam, join as joinTeam } from "../../../helpers/people/teams.ts";
import { settingsOf } from "../../../helpers/store/test-database.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import { skipAt } from "../../../helpers/project/tools.ts";

const lack = lackOfPostgres();
let server: PostgresServer;
let url: string;
let plane: Plane;
let routes: readonly ServedRoute[];
beforeAll(async () => {
  if (lack !== undefined) return;
  server = await startPostgres();
  url = await server.createMigrated();
  // Few connections: one listens, one changes, two read.
  const settings = { ...settingsOf(url), WINDLASS_DATABASE_CONNECTIONS: "4" };
  [plane, routes] = await withRoutes(() => startPlane(settings));
});
afterAll(async () => {
  await plane?.close();
  await server?.close();
});
skipAt(lack);

/** Tables without row security, with the reason. */
const open: Record<string, string> = {
  facts: "about the whole database",
  releases: "published to everyone",
  schema_version: "about the whole database",
  unnamed_blobs: "names of blobs, without an owner",
};

/** A user with one of everything, whose texts contain a mark. */
async function addMarked() {
  const mark = `mark${randomUUID().slice(0, 8)}`;
  const user = await openSampleUser(plane, `${mark}@example.com`);
  const { client, owner } = user;
  await client.call("updateZone", { params: { id: owner.zone }, body: { name: mark } });
  const spec = await user.configure(mark);
  const job = await user.begin({ job_type: "PLAN", configuration_id: spec });
  await user.log(job, `${mark}\n`);
  const counts = { create: 1, update: 0, replace: 0, delete: 0, forget: 0, move: 0, import: 0 };
  const changes = [{ address: `null_resource.${mark}`, action: "create" as const }];
  const plan_summary = { counts, changes, changes_omitted: 0, outputs: [], outputs_omitted: 0 };
  await user.end(job, "SUCCESS", {
    plan_summary: { ...plan_summary, drift: [], drift_omitted: 0 },
  });
  const { id: identity } = await client.call("createCloudIdentity", {
    body: { name: mark, provider: "aws", role_arn: "arn:aws:iam::123456789012:role/windlass" },
  });
  const { id: set } = await client.call("createVariableSet", {
    body: { name: mark },
  });
  const token = await client.call("createAccessToken", {
    body: { name: mark, role: "viewer" },
  });
  await client.call("createRegistrationToken", { body: {} });
  const ids = { zones: owner.zone, jobs: job, workers: user.worker, configurations: spec };
  return {
    ...user,
    mark,
    ids: {
      ...ids,
      identities: identity,
      "variable-sets": set,
      "access-tokens": token.id,
    } as Record<string, string>,
  };
}
type Marked = Awaited<ReturnType<typeof addMarked>>;

/** Everything by which something of a user is recognised. */
const tracesOf = ({ mark, owner, ids }: Marked): string[] => [
  mark,
  owner.id,
  ...Object.values(ids),
];

/** A statement without the conditions that name an owner. */
const withoutOwner = (text: string): string => {
  const at = text.search(/\bwhere\b/i);
  if (at < 0) return text;
  const conditions = /("?\w+"?\.)?"?\b(owner_id|user_id|profile_id|space_id)\b"? = (\$\d+)/g;
  return text.slice(0, at) + text.slice(at).replaceAll(conditions, "($3::text is not null)");
};

/**
 * Runs work in which statements for people lack their conditions on the owner; `isOff`: row
 * security does not apply to them either.
 */
async function withWrongQueries<T>(isOff: boolean, work: () => Promise<T>): Promise<T> {
  const { query } = PostgresQueries.prototype;
  PostgresQueries.prototype.query = function wrong(this: PostgresQueries, asked: pg.QueryConfig) {
    if (currentSpaces() === undefined) return query.call(this, asked);
    const text = withoutOwner(asked.text);
    const name = text === asked.text ? asked.name : asked.name && `${asked.name}_wrong`;
    const { name: _, ...rest } = asked;
    const changed = { ...rest, text, ...(name ? { name } : {}) };
    return isOff ? asSystem(() => query.call(this, changed)) : query.call(this, changed);
  };
  try {
    return await work();
  } finally {
    PostgresQueries.prototype.query = query;
  }
}

const isForPeople = ({ endpoint, url: path, method }: ServedRoute): boolean =>
  endpoint
    ? endpoint.caller === "client" || endpoint.caller === "session"
    : method === "GET" && !/assets|docs|problems|login|health|ready|metrics|openapi/.test(path);

/** The path of a route with the ids of a user. */
const pathOf = ({ url: path }: ServedRoute, { ids, mark }: Marked): string =>
  path
    .replace(/([\w-]+)\/:(id|name|zone_id|configuration_id)\b/g, (_, kind: string) => {
      const id = ids[kind.replace(/^cloud-/, "")] ?? randomUUID();
      return `${kind}/${id}`;
    })
    .replace(":project_name", mark)
    .replace(":serial", "1");

/** Calls all routes for people as `who`, with the ids of `other`. Returns what shows `other`. */
async function showing(who: Marked, other: Marked, methods: RegExp): Promise<string[]> {
  const found: string[] = [];
  for (const route of routes) {
    if (!isForPeople(route) || !methods.test(route.method)) continue;
    const path = pathOf(route, other);
    const { headers, text, status }: TestResponse = await ask(plane, route.method, path, {
      headers: who.headers,
      ...(route.method === "GET" ? {} : { json: {} }),
    });
    // The path itself is repeated by errors and forms.
    const shown = [text, String(headers.location)].join().replaceAll(path, "");
    const traces = tracesOf(other).filter((trace) => !path.includes(trace));
    if (status < 300 && route.url.includes("/:")) found.push(`${route.method} ${path}: ${status}`);
    else if (traces.some((trace) => shown.includes(trace))) found.push(`${route.method} ${path}`);
  }
  return found;
}

/** Every row that shows a user, as text. */
async function rowsOf({ owner }: Marked): Promise<string[]> {
  const { rows } = await command(
    url,
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  const all: string[] = [];
  for (const { name } of rows as { name: string }[]) {
    const found = await command(url, `select t::text as row from ${name} as t`);
    for (const { row } of found.rows as { row: string }[])
      if (row.includes(owner.id)) all.push(`${name} ${row}`);
  }
  return all.toSorted();
}

describe("a query for a person without a condition on the owner", () => {
  let [ada, bob]: Marked[] = [];
  beforeAll(async () => {
    if (lack === undefined) [ada, bob] = [await addMarked(), await addMarked()];
  });

  it("would show other spaces without row security", async () => {
    const found = await withWrongQueries(true, () => showing(bob!, ada!, /GET/));
    expect(found).toEqual(expect.arrayContaining([`GET /api/cli/zones`, `GET /zones`]));
    expect(found.length).toBeGreaterThan(20);
  });

  it("shows nothing of other spaces by any route", async () => {
    expect(plane.context.store.hidesOtherSpaces).toBe(true);
    expect(await withWrongQueries(false, () => showing(bob!, ada!, /GET/))).toEqual([]);
  });

  it("changes nothing of other spaces by any route", async () => {
    const before = await rowsOf(ada!);
    expect(before.length).toBeGreaterThan(10);
    expect(
      await withWrongQueries(false, () => showing(bob!, ada!, /POST|PUT|PATCH|DELETE/)),
    ).toEqual([]);
    expect(await rowsOf(ada!)).toEqual(before);
  });

  it("shows each of two people their own space, among 200 requests at once", async () => {
    const paths = ["/api/cli/zones", "/api/jobs", "/api/cli/configurations", "/zones", "/jobs"];
    await withWrongQueries(false, () =>
      Promise.all(
        Array.from({ length: 200 }, async (_, n) => {
          const [who, other] = n % 2 === 0 ? [ada!, bob!] : [bob!, ada!];
          const isChange = n % 10 < 2;
          const { text, status } = await ask(
            plane,
            isChange ? "POST" : "GET",
            isChange ? "/api/cli/zones" : paths[n % paths.length]!,
            { headers: who.headers, ...(isChange ? { json: { name: `${who.mark}-${n}` } } : {}) },
          );
          expect(status).toBe(isChange ? 201 : 200);
          expect(text).toContain(who.mark);
          expect(tracesOf(other).filter((trace) => text.includes(trace))).toEqual([]);
        }),
      ),
    );
  });
});

it("follows membership: after a removal, another control plane reads and changes nothing", async () => {
  const second = await startPlane({
    ...settingsOf(url),
    WINDLASS_ARTIFACTS_URL: `file:${join(plane.directory, "blobs")}`,
    WINDLASS_DATABASE_CONNECTIONS: "4",
  });
  try {
    const [ada, bob] = [await addTestUser(plane), await addTestUser(plane)];
    const { slug, calls } = await addTeam(plane, ada);
    const mark = `mark${randomUUID()}`;
    const zone = await calls.call("createZone", { body: { name: mark } });
    await joinTeam(plane, ada, slug, bob, "admin");
    // Without a condition on the owner, so that row security alone decides.
    const seen = () =>
      withWrongQueries(false, async () => {
        const { headers } = bob;
        const read = await ask(second, "GET", "/api/cli/zones", { headers });
        const path = `/api/cli/zones/${zone.id}`;
        const changed = await ask(second, "PATCH", path, { headers, json: { name: mark } });
        return [read.status, read.text.includes(mark), changed.status];
      });
    expect(await seen()).toEqual([200, true, 200]);
    const params = { slug, user_id: bob.owner.id };
    await ada.client.call("removeMember", { params });
    expect(await seen()).toEqual([200, false, 404]);
  } finally {
    await second.close();
  }
});

describe("the scope of a query", () => {
  const zonesIn = async ({ sql: db }: Queries): Promise<number> =>
    (await db.selectFrom("zones").select("id").execute()).length;
  const settings = sql<{ role: string; spaces: string | null }>`
    select current_setting('role') as role, current_setting('windlass.spaces', true) as spaces`;

  it("is that of its caller, where changes share a transaction", async () => {
    const { store } = plane.context;
    const [ada, bob] = [await addMarked(), await addMarked()];
    const all = await zonesIn(store.read);
    const inOne = (spaces: readonly string[]) =>
      inSpaces(
        spaces.map((id) => ({ id })),
        () => store.write(zonesIn),
      );
    const failing = inSpaces([bob.owner], () =>
      store.write(async (tx) => {
        await zonesIn(tx);
        await sql`select 1 / 0`.execute(tx.sql);
      }),
    );
    const seen = await Promise.allSettled([
      inOne([ada.owner.id]),
      store.write(zonesIn),
      failing,
      inOne([]),
      store.write(zonesIn),
      inOne([ada.owner.id, bob.owner.id]),
      inSpaces([ada.owner], () => store.share(zonesIn)),
      store.share(zonesIn),
    ]);
    expect(seen.map((one) => ("value" in one ? one.value : "failed"))).toEqual([
      1,
      all,
      "failed",
      0,
      all,
      2,
      1,
      all,
    ]);
  });

  it("shows reads only some zones of a limited space, and changes all of it", async () => {
    const { store } = plane.context;
    const ada = await addMarked();
    const bob = await addMarked();
    const { id, zone } = ada.owner;
    const counts = (zones: readonly string[], configurations?: readonly string[]) =>
      inSpaces([{ id, zones, configurations }, bob.owner], async () => {
        const { sql: db } = store.read;
        const ids = async (table: "zones" | "specs" | "jobs" | "job_snapshots") =>
          (await db.selectFrom(table).selectAll().execute()).length;
        return [
          await ids("zones"),
          await ids("specs"),
          await ids("jobs"),
          await ids("job_snapshots"),
        ];
      });
    const all = await inSpaces([ada.owner, bob.owner], () => counts([zone]));
    const none = await counts([randomUUID()]);
    expect(none.every((count, index) => count < all[index]!)).toBe(true);
    expect(none).toEqual(await counts([]));
    const [zones, specs, jobs] = await counts([zone], [randomUUID()]);
    expect([zones, specs, jobs]).toEqual([all[0], none[1], none[2]]);
    const limited = [{ id, zones: [] }];
    expect(await inSpaces(limited, () => store.write(zonesIn))).toBe(1);
    expect(await inSpaces(limited, () => zonesIn(store.read))).toBe(0);
  });

  it("ends with the query, also when it fails", async () => {
    const { read } = plane.context.store;
    for (let n = 0; n < 10; n += 1)
      await expect(
        inSpaces([{ id: randomUUID() }], () => sql`select 1 / 0`.execute(read.sql)),
      ).rejects.toThrow("division");
    const after = await Promise.all(Array.from({ length: 10 }, () => settings.execute(read.sql)));
    for (const { rows } of after)
      expect(rows).toEqual([{ role: "none", spaces: rows[0]?.spaces ? "" : rows[0]!.spaces }]);
  });
});

it("every table is protected, or is known to be open", async () => {
  const { rows } = await command(
    url,
    `select relname as name, relrowsecurity as protected, array_to_json(array(
        select distinct r::regrole::text from pg_policy, unnest(polroles) as r where polrelid = c.oid order by 1)) as roles
      from pg_class as c where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`,
  );
  const tables = rows as { name: string; protected: boolean; roles: string[] }[];
  expect(tables.length).toBeGreaterThan(30);
  const unprotected = tables.filter((table) => !table.protected).map(({ name }) => name);
  expect(unprotected.toSorted()).toEqual(Object.keys(open).toSorted());
  // People see rows by a policy for every role ("-"), and the server sees all by its own.
  for (const table of tables.filter((one) => one.protected))
    expect(table).toEqual({ ...table, roles: ["-", "server"] });
});

it("a role for people without a space sees no row of a protected table", async () => {
  const { rows } = await command(
    url,
    "select relname as name from pg_class where relrowsecurity and relnamespace = 'public'::regnamespace",
  );
  for (const { name } of rows as { name: string }[]) {
    // In a query of several statements, the last has the rows.
    const result = await command(asServer(url), `set role server_people; select from ${name}`);
    expect((result as unknown as pg.QueryResult[])[1]?.rowCount).toBe(0);
  }
});

it("is off, as the store says, without a role to which it applies", async () => {
  // The role of the owner has no role for people.
  const options = { url, connections: 3 };
  const hides = async () => {
    const store = await openPostgres(options);
    await store.close();
    return store.hidesOtherSpaces;
  };
  expect(await hides()).toBe(false);
  await command(url, "create role windlass_people superuser");
  expect(await hides()).toBe(false);
  await command(url, "alter role windlass_people nosuperuser");
  // With one address, too: the role of the server may own the tables.
  expect(await hides()).toBe(true);
});
