/**
 * A rolling upgrade: two servers of this release are replaced one after the other by the next
 * release, whose migration adds to the tables that they use, while jobs run. The next release is
 * this one's code with one migration more.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findBreaches } from "../helpers/load/acknowledged.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import { startBalancer } from "../helpers/network/balancer.ts";
import {
  copyToSqlite,
  newSharedLink,
  sharedSettings,
  untilAllKinds,
  untilAnswered,
} from "../helpers/plane/control-planes.ts";
import { findUnserved } from "../helpers/load/find-unserved.ts";
import { seeded } from "../helpers/plane/hostile-values.ts";
import { Load } from "../helpers/load/load.ts";
import { command, lackOfPostgres, startPostgres } from "../helpers/store/postgres.ts";
import { proving } from "../helpers/project/proving.ts";
import { spawnServer, type ServerProcess } from "../helpers/plane/server-process.ts";
import { skipAt } from "../helpers/project/tools.ts";
import { bin } from "../helpers/cli/windlass.ts";

skipAt(lackOfPostgres());

const root = join(import.meta.dirname, "../..");
/** Calls between two steps. */
const pace = proving ? 600 : 30;

/** The migration of the next release, in a file of its own. */
const migration = `
import { sql } from "kysely";

export async function up(db) {
  for (const table of ["jobs", "workers", "specs", "state_versions", "log_chunks"])
    await sql.raw("alter table " + table + " add column of_the_next_release text").execute(db);
  await sql.raw("create table of_the_next_release (id text primary key)").execute(db);
}
export const upPostgres = up;
export const version = 9999;
export const isAdditive = true;
`;

/** Writes the next release's code to a directory. Returns its program. */
function plantRelease(directory: string): string {
  const parts = ["bin", "common", "control-plane", "protocol"];
  for (const part of [...parts, "main.ts", "package.json"])
    cpSync(join(root, part), join(directory, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  const store = join(directory, "control-plane/store");
  writeFileSync(join(store, "migrations/9999-next.ts"), migration);
  const list = readFileSync(join(store, "migrate.ts"), "utf8");
  const planted = `import * as next from "./migrations/9999-next.ts";\n${list}`.replace(
    /release020(?=\];)/,
    "release020, next",
  );
  writeFileSync(join(store, "migrate.ts"), planted);
  return join(directory, "bin/windlass");
}

test("servers are upgraded one by one while jobs run, and an old one may start again", async () => {
  using place = scratch();
  const database = await startPostgres();
  await using balancer = await startBalancer();
  const url = await database.create();
  const settings = sharedSettings(url, place.path);
  const next = plantRelease(join(place.path, "next"));
  const schema = async () =>
    Number((await command(url, "select version from schema_version")).rows[0].version);
  const servers: ServerProcess[] = [];
  const urls: string[] = [];
  const spawn = async (index: number, program = bin) => {
    // Compiled code of the planted release is of no use later.
    const uncached = program === bin ? {} : { NODE_COMPILE_CACHE: "" };
    const directory = join(place.path, `data-${index}`);
    servers[index] = spawnServer(directory, { ...settings, ...uncached }, { program });
    urls[index] = await servers[index].ready;
    balancer.targets = [...urls];
    return servers[index];
  };
  /** Stops one as an orchestrator does: first it gets no new connections. */
  const replace = async (index: number, program?: string) => {
    balancer.targets = urls.filter((_, n) => n !== index);
    servers[index]!.kill("SIGTERM");
    expect(await servers[index]!.exited).toBe(0);
    await untilAnswered(load, pace);
    await spawn(index, program);
    await untilAnswered(load, pace);
  };
  const load = new Load(seeded(14));
  load.url = balancer.url;
  try {
    await Promise.all([spawn(0), spawn(1)]);
    await load.start(await newSharedLink(url));
    await untilAnswered(load, pace);
    await replace(0, next);
    expect(await schema()).toBe(9999);
    // The upgrade is taken back at one of them, and done again.
    await replace(1);
    await replace(1, next);
    await untilAllKinds(load);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(await findUnserved(load)).toEqual([]);
    for (const server of servers) {
      expect(server.log()).not.toMatch(/"level":[56]0/);
      server.kill("SIGTERM");
    }
    expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual([0, 0]);
    await copyToSqlite(url, join(place.path, "windlass.db"));
    expect(await findBreaches(place.path, load.acknowledged)).toEqual([]);
    const { ended } = load.acknowledged;
    process.stderr.write(
      `${ended.size} jobs, ${load.answered} calls answered, ${load.unanswered} repeated, ${load.refused} refused with 503\n`,
    );
  } finally {
    await load.stop().catch(() => undefined);
    for (const server of servers) server.kill("SIGKILL");
    await Promise.all(servers.map(({ exited }) => exited));
    await database.close();
  }
});
