/** A zone with a long history moves in turns, which a crash may interrupt. */
import { v7 as uuid } from "uuid";
import { sql } from "kysely";
import { expect, test } from "vitest";
import {
  finishMoves,
  jobsPerTurn,
  refuseMoving,
} from "../../../../control-plane/services/storage/zone-moves.ts";
import { listUnfinishedMoves, moveZone } from "../../../../control-plane/store/zones/moves.ts";
import { setFact, zoneMovesFrom } from "../../../../control-plane/store/facts.ts";
import { addTeam } from "../../../helpers/people/teams.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import { proving } from "../../../helpers/project/proving.ts";
import { readRow, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addJob, addSpec } from "../../../helpers/plane/rows.ts";
import { counted } from "../../../helpers/store/work.ts";

const { plane } = planeForFile();
const jobs = proving ? 100_000 : 3000;

/** Copies a job, with ids before its own. */
const copyJob = (id: string, count: number) =>
  plane.context.store.write(async (tx) => {
    const { rows } = await sql<
      Record<string, unknown>
    >`select * from jobs where id = ${id}`.execute(tx.sql);
    const columns = Object.keys(rows[0]!).map((name) =>
      name === "id" ? sql`'0000' || (1000000 + i) || ${uuid()}` : sql.ref(`jobs.${name}`),
    );
    await sql`insert into jobs (${sql.join(Object.keys(rows[0]!).map((name) => sql.ref(name)))})
      with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
      select ${sql.join(columns)} from jobs cross join n where jobs.id = ${id}`.execute(tx.sql);
  });

const countOf = async (owner: string): Promise<number> => {
  const { rows } = await sql<{ count: number | string }>`
    select count(*) as count from jobs where owner_id = ${owner}`.execute(
    plane.context.store.read.sql,
  );
  return Number(rows[0]!.count);
};

test("a zone moves at once, and its jobs follow in small transactions, also after a crash", async () => {
  const { store } = plane.context;
  const user = await addTestUser(plane);
  const { owner, client } = user;
  const { slug, calls } = await addTeam(plane, user);
  const { id: team } = await readRow(plane, "teams", { slug });
  const ended = { status: "SUCCESS", ended_at: 1, released_at: 1, claimed_at: 1 } as const;
  const [spec, kept] = [await addSpec(store, owner), await addSpec(store, owner)];
  const elsewhere = await client.call("createZone", { body: { name: "elsewhere" } });
  const jobOf = async (spec_id: string | null, more: object) =>
    (await addJob(store, owner, { spec_id, zone_id: owner.zone, ...ended, ...more })).id;
  const deployed = await jobOf(spec, { job_type: "DEPLOY" });
  await copyJob(await jobOf(spec, {}), jobs);
  const ofDeleted = await jobOf(null, {});
  const newest = await jobOf(spec, {});
  // It ran in the zone that moves, and its configuration stays.
  const stays = await jobOf(kept, {});
  await setRows(plane, "specs", { zone_id: elsewhere.id }, { id: kept });

  const { context, work } = counted(plane.context);
  const move = { zone: owner.zone, from: owner.id, to: team };
  const other = await calls.call("createZone", { body: { name: "other" } });
  const first = await context.store.write(async (tx) => {
    await moveZone(tx, move, 0);
    await expect(refuseMoving(tx, owner.zone)).rejects.toMatchObject({ code: "zone_busy" });
    return tx.sql.selectFrom("jobs").select("id").where("owner_id", "=", team).execute();
  });
  // Whatever the history is: what the page of the configuration shows goes at once.
  expect(first.map(({ id }) => id).toSorted()).toEqual([deployed, newest].toSorted());
  expect(work.statements).toBeLessThan(20);
  // Before the first second is over, in which the server itself goes on.
  const params = { id: owner.zone };
  const body = { zone_id: other.id };
  const refused = await Promise.all([
    calls.refusal("updateZone", { params, body: { team: null } }),
    calls.refusal("deleteZone", { params }),
    calls.refusal("updateConfiguration", { params: { name: spec }, body }),
  ]);
  expect(refused).toEqual(["409 zone_busy", "409 zone_busy", "409 zone_busy"]);
  expect((await calls.call("getZone", { params })).specs).toHaveLength(1);
  await client.call("getJob", { params: { id: ofDeleted } });

  // Two servers at once, of which one is stopped.
  const stop = new AbortController();
  const stopped = finishMoves(plane.context, stop.signal);
  setTimeout(() => stop.abort(), 30);
  await Promise.all([stopped, finishMoves(context)]);
  expect(await listUnfinishedMoves(store.read)).toEqual([]);
  expect(await countOf(owner.id)).toBe(1);
  expect((await readRow(plane, "jobs", { id: stays })).zone_id).toBe(elsewhere.id);
  expect(await countOf(team)).toBe(jobs + 4);
  await calls.call("getJob", { params: { id: ofDeleted } });
  const turns = Math.ceil((jobs + 4) / jobsPerTurn);
  expect(work.statements).toBeLessThan(turns * 4 + 100);
  // Back again.
  await calls.call("updateZone", { params, body: { team: null } });
  await finishMoves(plane.context);
  expect(await countOf(team)).toBe(0);

  // Another server that is stopped while it reads jobs that have followed already.
  await store.write((tx) => setFact(tx, zoneMovesFrom + owner.zone, team));
  const before = work.statements;
  const halt = new AbortController();
  setImmediate(() => halt.abort());
  await finishMoves(context, halt.signal);
  expect(work.statements - before).toBeLessThan(turns / 2);
}, 600_000);
