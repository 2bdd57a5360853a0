/**
 * Two servers on PostgreSQL and S3 while S3 fails in every way: jobs wait and end right, whatever
 * needs no file is served meanwhile, and nothing acknowledged is lost.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../helpers/agent/agent-process.ts";
import { startBalancer } from "../helpers/network/balancer.ts";
import {
  newSharedLink,
  sharedSettings,
  untilAllKinds,
  untilAnswered,
} from "../helpers/plane/control-planes.ts";
import { findUnserved } from "../helpers/load/find-unserved.ts";
import { seeded } from "../helpers/plane/hostile-values.ts";
import { Load } from "../helpers/load/load.ts";
import { lackOfS3, s3Credentials, startS3 } from "../helpers/store/s3-server.ts";
import { ask } from "../helpers/plane/plane.ts";
import { command, lackOfPostgres, startPostgres } from "../helpers/store/postgres.ts";
import { proving } from "../helpers/project/proving.ts";
import { s3FaultProxy, type S3Fault } from "../helpers/store/s3-fault-proxy.ts";
import { spawnServer } from "../helpers/plane/server-process.ts";
import { skipAt } from "../helpers/project/tools.ts";

skipAt(lackOfPostgres());
skipAt(lackOfS3);

const rounds = proving ? 5 : 1;
const faults: readonly S3Fault[] = ["error", "slow", "cut", "lose", "hang"];

test("S3 fails while jobs run: they end right, other requests are served, logs are not lost", async () => {
  using place = scratch();
  await using s3 = await startS3("blobs");
  await using proxy = await s3FaultProxy(s3.url);
  const database = await startPostgres();
  const url = await database.create();
  await using balancer = await startBalancer();
  const settings = {
    ...sharedSettings(url, place.path),
    WINDLASS_ARTIFACTS_URL: "s3://blobs/windlass",
    WINDLASS_S3_PATH_STYLE: "1",
    WINDLASS_TEST_LIMITS: '{"logArchiveSeconds": 0.05}',
    AWS_ENDPOINT_URL_S3: proxy.url,
    AWS_REGION: "us-east-1",
    ...s3Credentials,
  };
  const servers = [0, 1].map((n) => spawnServer(join(place.path, `data-${n}`), settings));
  const load = new Load(seeded(3));
  load.url = balancer.url;
  const asPerson = () => ({ headers: load.person });
  const archived = async () =>
    Number((await command(url, "select count(*) from log_archives")).rows[0].count);
  try {
    balancer.targets = await Promise.all(servers.map(({ ready }) => ready));
    await load.start(await newSharedLink(url));
    for (let round = 0; round < rounds; round += 1)
      for (const fault of faults) {
        await untilAnswered(load, 40);
        const seen = proxy.seen.length;
        proxy.fault = () => fault;
        await expect.poll(() => proxy.seen.length).toBeGreaterThan(seen + 4);
        // What needs no file is served by both servers, and a load balancer removes neither.
        for (const target of balancer.targets)
          for (const path of ["/api/jobs?limit=1", "/readyz"])
            expect((await ask({ url: target }, "GET", path, asPerson())).status).toBe(200);
        proxy.fault = () => undefined;
        // Files are stored again within a minute, of which the caches of the servers take 5 s.
        for (const target of balancer.targets)
          await expect.poll(() => problemsOf(target), { timeout: 60_000 }).toEqual([]);
        await untilAnswered(load, 40);
      }
    await untilAllKinds(load);
    await load.stop();
    expect(load.failures).toEqual([]);
    // All logs are in S3 in the end, and none has left the database before.
    await expect.poll(archived).toBe(load.acknowledged.logs.size);
    expect(await findUnserved(load)).toEqual([]);
    for (const server of servers) server.kill("SIGTERM");
    expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual([0, 0]);
    process.stderr.write(
      `${load.acknowledged.ended.size} jobs, ${load.answered} calls answered, ${load.unanswered} repeated, ${load.refused} refused with 503\n`,
    );
  } finally {
    for (const server of servers) server.kill("SIGKILL");
    await Promise.all(servers.map(({ exited }) => exited));
    await database.close();
  }
});

/** What the server at an address cannot store. */
const problemsOf = async (url: string): Promise<unknown> =>
  (await ask({ url }, "GET", "/readyz")).json()["problems"];
