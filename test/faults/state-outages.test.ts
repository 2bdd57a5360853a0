/**
 * The object store, the database or the disk of a server is away while terraform saves one state and
 * loads another: both jobs succeed. With WINDLASS_PROVE=1 for three minutes.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { expect, it, vi } from "vitest";
import { readConfig } from "../../control-plane/config.ts";
import { startServer } from "../../control-plane/server.ts";
import type { Job } from "../../protocol/jobs.ts";
import { scratch, until } from "../helpers/agent/agent-process.ts";
import { faultProxy } from "../helpers/network/fault-proxy.ts";
import { isolationForHeldApply, startHeldApply } from "../helpers/agent/held-apply.ts";
import { lackOfS3, startS3 } from "../helpers/store/s3-server.ts";
import type { Plane } from "../helpers/plane/plane.ts";
import { asServer, lackOfPostgres, startPostgres } from "../helpers/store/postgres.ts";
import { proving } from "../helpers/project/proving.ts";
import { s3FaultProxy } from "../helpers/store/s3-fault-proxy.ts";
import { fillDisk, needsRoot, smallDisk } from "../helpers/machine/small-disk.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

/** Longer than terraform waits in total if it is sent `Retry-After: 2`. */
const outageMilliseconds = proving ? 180_000 : 25_000;
const timeout = outageMilliseconds + 120_000;
/** So that a runner that is not heard of in the outage would be lost. */
const periods: Record<string, string> = proving
  ? {}
  : {
      WINDLASS_HEARTBEAT_SECONDS: "1",
      WINDLASS_OFFLINE_SECONDS: "6",
      WINDLASS_LOST_SECONDS: "3",
    };

/** Starts a server that may log errors. */
async function serve(directory: string, settings: Record<string, string> = {}): Promise<Plane> {
  const place = { WINDLASS_DATA_DIR: directory, WINDLASS_PORT: "0" };
  const config = readConfig({ ...periods, ...settings, ...place });
  return { ...(await startServer(config, pino({ level: "silent" }))), directory } as Plane;
}

interface Outage {
  begin(): void | Promise<unknown>;
  end(): void | Promise<unknown>;
}

const changing = {
  type: "inline",
  files: { "main.tf": `resource "terraform_data" "a" { triggers_replace = timestamp() }` },
};

/** Lets an apply end in an outage that begins when another job asks for its state. */
async function outlive(plane: Plane, { begin, end }: Outage): Promise<void> {
  const proxy = await faultProxy(plane.url);
  try {
    const agent = {
      ...isolationForHeldApply,
      WINDLASS_URL: proxy.url,
      WINDLASS_CONCURRENCY: "2",
    };
    await using machine = await userMachine(plane, { agent });
    await machine.ready();
    const { user } = machine;
    const configuration_id = await user.configure({ source: changing });
    const deploy = { job_type: "DEPLOY", configuration_id } as const;
    expect(await user.released(await user.queue(deploy))).toMatchObject({ status: "SUCCESS" });
    const saving = await startHeldApply(machine);
    let outage: Promise<unknown> | undefined;
    proxy.onRequest = async ({ path }) => {
      if (path === `/api/state/${configuration_id}`) await (outage ??= Promise.resolve(begin()));
      return true;
    };
    const loading = await user.queue(deploy);
    await until(() => outage !== undefined);
    await outage;
    saving.finish();
    await sleep(outageMilliseconds);
    await end();
    for (const job of [saving.job, loading]) {
      const isReleased = async () => (await user.read(job).catch(() => job)).released_at !== null;
      await expect.poll(isReleased, { timeout: 60_000, interval: 200 }).toBe(true);
      const ended: Job = await user.read(job);
      expect([ended, machine.agentLog()]).toMatchObject([
        { status: "SUCCESS", error_message: null, presumed_lost_at: null, attempt: 1 },
        {},
      ]);
      const { state_versions } = await user.client.call("listStateVersions", {
        params: { name: job.configuration_id ?? "" },
        query: {},
      });
      expect(state_versions[0]).toMatchObject({ resources: 1, job_id: job.id });
    }
  } finally {
    await proxy.close();
  }
}

it(
  "an object store that is away costs no job anything",
  async (context) => {
    if (lackOfS3 !== undefined) return context.skip(lackOfS3);
    using place = scratch();
    await using s3 = await startS3("blobs");
    await using store = await s3FaultProxy(s3.url);
    vi.stubEnv("AWS_ENDPOINT_URL_S3", store.url);
    vi.stubEnv("AWS_REGION", "us-east-1");
    vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    const plane = await serve(place.path, {
      WINDLASS_ARTIFACTS_URL: "s3://blobs/windlass",
      WINDLASS_S3_PATH_STYLE: "1",
    });
    try {
      await outlive(plane, {
        begin: () => void (store.fault = () => "error"),
        end: () => void (store.fault = () => undefined),
      });
    } finally {
      await plane.close();
      vi.unstubAllEnvs();
    }
  },
  timeout,
);

it(
  "a database that is away costs no job anything",
  async (context) => {
    const lack = lackOfPostgres();
    if (lack !== undefined) return context.skip(lack);
    using place = scratch();
    const database = await startPostgres();
    const plane = await serve(place.path, {
      WINDLASS_DATABASE_URL: asServer(await database.createMigrated()),
      WINDLASS_ARTIFACTS_URL: `file:${join(place.path, "blobs")}`,
      CLI_JWT_SECRET: "j".repeat(40),
      WINDLASS_SECRET_KEY: "k".repeat(40),
    });
    try {
      await outlive(plane, { begin: () => database.kill(), end: () => database.restart() });
    } finally {
      await plane.close();
      await database.close();
    }
  },
  timeout,
);

it(
  "a full disk costs no job anything",
  async (context) => {
    await using disk = await smallDisk(48);
    if (!disk) return context.skip(needsRoot);
    const plane = await serve(disk.path);
    const filler = join(disk.path, "filler");
    try {
      await outlive(plane, { begin: () => fillDisk(filler), end: () => rmSync(filler) });
    } finally {
      await plane.close();
    }
  },
  timeout,
);
