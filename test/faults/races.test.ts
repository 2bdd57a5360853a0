/**
 * The races of approvals and teams at two control planes, processes of their own, on one PostgreSQL.
 */
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { scratch } from "../helpers/agent/agent-process.ts";
import { approvalRaces } from "../control-plane/services/approvals/races.ts";
import { sharedSettings } from "../helpers/plane/control-planes.ts";
import { startPlane, type Plane } from "../helpers/plane/plane.ts";
import { lackOfPostgres, startPostgres, type PostgresServer } from "../helpers/store/postgres.ts";
import { spawnServer, type ServerProcess } from "../helpers/plane/server-process.ts";
import { streamEnds, teamRaces } from "../control-plane/services/teams/races.ts";
import { skipAt } from "../helpers/project/tools.ts";

const lack = lackOfPostgres();
let place: ReturnType<typeof scratch>;
let database: PostgresServer;
let first: Plane;
let process: ServerProcess;
let second: Pick<Plane, "url">;
beforeAll(async () => {
  if (lack !== undefined) return;
  place = scratch();
  database = await startPostgres();
  const settings = sharedSettings(await database.create(), place.path);
  first = await startPlane(settings);
  process = spawnServer(join(place.path, "data"), settings);
  second = { url: await process.ready };
});
afterAll(async () => {
  if (lack !== undefined) return;
  await process?.[Symbol.asyncDispose]();
  await first?.close();
  await database?.close();
  place[Symbol.dispose]();
  const slowest = Math.max(...streamEnds).toFixed(0);
  globalThis.process.stdout.write(
    `${streamEnds.length} streams ended, the last one ${slowest} ms after the removal\n`,
  );
});
skipAt(lack);

const planes = () => ({ first, second });
approvalRaces(planes);
teamRaces(planes);
