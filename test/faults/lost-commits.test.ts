/**
 * The connection to PostgreSQL breaks while a commit is under way that is carried out: no row
 * without its file, so that nothing acknowledged or archived is lost.
 */
import { expect, it } from "vitest";
import { archiveLogs } from "../../control-plane/services/logs/archiving.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { addHeldJob, ask, readRows, startPlane } from "../helpers/plane/plane.ts";
import { lackOfPostgres, startPostgres } from "../helpers/store/postgres.ts";
import { postgresProxy } from "../helpers/store/postgres-proxy.ts";
import { sharedSettings } from "../helpers/plane/control-planes.ts";
import { addTestUser } from "../helpers/people/user.ts";
import { skipAt } from "../helpers/project/tools.ts";

skipAt(lackOfPostgres());

it("a file stays if the response to the commit of its row is lost", async () => {
  using place = scratch();
  const port = await freePort();
  const database = await startPostgres({ port });
  const { pathname } = new URL(await database.create());
  const proxy = await postgresProxy(port);
  const url = `postgres://windlass@127.0.0.1:${proxy.port}${pathname}`;
  const plane = await startPlane(sharedSettings(url, place.path));
  try {
    const { owner, worker, runner, headers } = await addTestUser(plane);
    const job = await addHeldJob(plane, owner, worker);
    const path = `/api/jobs/${job.id}/plan-artifact`;
    const type = { ...worker.headers, "content-type": "application/octet-stream" };
    const plan = Buffer.from("a plan");
    const upload = () => ask(plane, "POST", path, { headers: type, body: plan });
    proxy.loseCommitOf('insert into "plan_artifacts"');
    expect((await upload()).json()).toMatchObject({ code: "storage_unavailable" });
    expect(proxy.lost).toBe(1);
    // It was stored. A runner repeats the upload, as long as it gets no other response.
    expect(await readRows(plane, "plan_artifacts")).toHaveLength(1);
    expect((await upload()).status).toBe(200);
    const stored = await ask(plane, "GET", path, { headers: worker.headers });
    expect([stored.status, stored.text]).toEqual([200, "a plan"]);

    const params = { id: job.id };
    const line = { seq: 1, stream_type: "STDOUT", log_chunk: "a line\n" } as const;
    await runner.ask("appendLogs", { params, body: line });
    await runner.ask("reportStatus", { params, body: { status: "SUCCESS", last_seq: 1 } });
    const logs = `/api/cli/jobs/${job.id}/logs`;
    const before = await ask(plane, "GET", logs, { headers });
    proxy.loseCommitOf('insert into "log_archives"');
    await expect(archiveLogs(plane.context, 0)).rejects.toMatchObject({ isUncertain: true });
    expect(proxy.lost).toBe(2);
    expect(await readRows(plane, "log_chunks")).toEqual([]);
    expect((await ask(plane, "GET", logs, { headers })).text).toBe(before.text);
  } finally {
    // It has logged what it refused.
    await plane.close().catch(() => undefined);
    await proxy[Symbol.asyncDispose]();
    await database.close();
  }
});
