/**
 * PostgreSQL as it is operated: a standby that is promoted while servers and runners work, and
 * connections over TLS.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openPostgres } from "../../control-plane/store/engines/postgres.ts";
import { PostgresChannel } from "../../control-plane/store/engines/postgres-channel.ts";
import { findBreaches } from "../helpers/load/acknowledged.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import { startBalancer } from "../helpers/network/balancer.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import {
  copyToSqlite,
  newSharedLink,
  sharedSettings,
  untilAllKinds,
  untilAnswered,
} from "../helpers/plane/control-planes.ts";
import { findUnserved } from "../helpers/load/find-unserved.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { seeded } from "../helpers/plane/hostile-values.ts";
import { Load } from "../helpers/load/load.ts";
import { command, lackOfPostgres, startPostgres } from "../helpers/store/postgres.ts";
import { proving } from "../helpers/project/proving.ts";
import { spawnServer } from "../helpers/plane/server-process.ts";
import { skipAt } from "../helpers/project/tools.ts";

skipAt(lackOfPostgres());

/** Calls before and after the failover. */
const pace = proving ? 3000 : 100;

test("a standby is promoted while jobs run: nothing acknowledged is lost or doubled", async () => {
  using place = scratch();
  const port = await freePort();
  const primary = await startPostgres({ port });
  const name = new URL(await primary.create()).pathname;
  const standby = await primary.standby();
  // The address of the database, which follows the primary.
  await using address = await startBalancer([`http://127.0.0.1:${port}`]);
  await using balancer = await startBalancer();
  const url = `postgres://windlass@127.0.0.1:${address.port}${name}`;
  const settings = sharedSettings(url, place.path);
  const servers = [0, 1].map((n) => spawnServer(join(place.path, `data-${n}`), settings));
  const load = new Load(seeded(2));
  load.url = balancer.url;
  try {
    balancer.targets = await Promise.all(servers.map(({ ready }) => ready));
    await load.start(await newSharedLink(url));
    await untilAnswered(load, pace);
    await primary.kill();
    // For a while the address leads to a standby, to which servers must not stay connected.
    address.targets = [`http://127.0.0.1:${standby.port}`];
    const refusedBefore = load.refused;
    await expect.poll(() => load.refused).toBeGreaterThan(refusedBefore + 20);
    await expect(openPostgres({ url, connections: 3 })).rejects.toThrow(/leads to a standby/);
    await standby.promote();
    await untilAnswered(load, pace);
    await untilAllKinds(load);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(await findUnserved(load)).toEqual([]);
    for (const server of servers) server.kill("SIGTERM");
    expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual([0, 0]);
    await copyToSqlite(url, join(place.path, "windlass.db"));
    expect(await findBreaches(place.path, load.acknowledged)).toEqual([]);
    process.stderr.write(
      `${load.acknowledged.ended.size} jobs, ${load.answered} calls answered, ${load.unanswered} repeated, ${load.refused} refused with 503\n`,
    );
  } finally {
    for (const server of servers) server.kill("SIGKILL");
    await Promise.all(servers.map(({ exited }) => exited));
    await standby.close();
    await primary.close();
  }
});

test("over TLS, the certificate must be valid for the authority and the host of the address", async () => {
  using place = scratch();
  const [right, wrong] = ["right", "wrong"].map((folder) => {
    mkdirSync(join(place.path, folder));
    return makeCertificate(join(place.path, folder), "localhost");
  });
  const port = await freePort();
  const database = await startPostgres({ port, tls: right!.tls });
  try {
    const name = new URL(await database.create()).pathname;
    const address = (host: string, mode: string, authority = "") =>
      `postgres://windlass@${host}:${port}${name}?sslmode=${mode}${authority && `&sslrootcert=${authority}`}`;
    const url = address("127.0.0.1", "verify-full", right!.file);
    const store = await openPostgres({ url, connections: 3 });
    const channel = await PostgresChannel.open(url, "windlass");
    const { rows } = await command(
      database.url("postgres"),
      "select count(*)::int as all, count(*) filter (where ssl)::int as ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'windlass'",
    );
    expect(rows[0].ssl).toBeGreaterThan(0);
    expect(rows[0].ssl).toBe(rows[0].all);
    await channel.close();
    await store.close();
    for (const refused of [
      address("127.0.0.1", "verify-full", wrong!.file),
      address("127.0.0.1", "verify-full"),
      // The loopback too, but not in the certificate.
      address("127.0.0.2", "verify-full", right!.file),
    ])
      await expect(openPostgres({ url: refused, connections: 3 })).rejects.toThrow(
        /certificate.*sslrootcert=/,
      );
    const unread = address("127.0.0.1", "verify-full", join(place.path, "none.pem"));
    await expect(openPostgres({ url: unread, connections: 3 })).rejects.toThrow(
      /cannot be opened: .*none\.pem/,
    );
    const unchecked = address("127.0.0.1", "no-verify");
    await (await openPostgres({ url: unchecked, connections: 3 })).close();
  } finally {
    await database.close();
  }
});
