/** Following a log while its connections break. */
import { connect, createServer } from "node:net";
import { expect, test } from "vitest";
import type { LogChunk } from "../../protocol/jobs.ts";
import { call } from "../../protocol/transport.ts";
import { followJob } from "../../cli/logs/follow.ts";
import { openApi } from "../../cli/api/api.ts";
import { until, scratch } from "../helpers/agent/agent-process.ts";
import { addHeldJob, addTestWorker, clientHeaders } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { addOwner } from "../helpers/plane/rows.ts";
import { spawnServer, newLink } from "../helpers/plane/server-process.ts";
import { approve, cookieOf } from "../helpers/people/sign-in.ts";
import { ask } from "../helpers/plane/plane.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { listen } from "../helpers/network/listen.ts";

const { plane } = planeForFile();

const inOrder = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`);

interface Runner {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly job: string;
}

const post = ({ url, headers, job: id }: Runner, log_chunk: string, seq: number) =>
  call(
    url,
    "appendLogs",
    { params: { id }, body: { log_chunk, stream_type: "STDOUT", seq } },
    { headers },
  );
const end = ({ url, headers, job: id }: Runner, last_seq: number) =>
  call(url, "reportStatus", { params: { id }, body: { status: "SUCCESS", last_seq } }, { headers });

test("following continues after many cut connections and delivers each chunk once", async () => {
  const owner = await addOwner(plane.context.store);
  const worker = await addTestWorker(plane, owner);
  const job = await addHeldJob(plane, owner, worker);
  const { authorization } = await clientHeaders(plane, owner);
  // A proxy that cuts each connection after a few hundred bytes, at any byte.
  const { port } = new URL(plane.url);
  const cuts = createServer((client) => {
    let left = 300 + Math.floor(Math.random() * 900);
    const server = connect(Number(port), "127.0.0.1");
    for (const one of [client, server]) one.on("error", () => undefined);
    client.pipe(server);
    server.on("data", (bytes) => {
      client.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) client.end();
      if (left <= 0) server.destroy();
    });
    client.on("close", () => server.destroy());
  });
  await using listening = await listen(cuts);
  const { send } = openApi({
    settings: { url: undefined, token: authorization?.slice(7), directory: "/nonexistent" },
    server: listening.url,
    profile: undefined,
  });
  const seen: LogChunk[] = [];
  let troubles = 0;
  const followed = followJob({ send, server: plane.url }, job.id, {
    signal: new AbortController().signal,
    onChunk: (chunk) => seen.push(chunk),
    onProgress: () => undefined,
    onTrouble: (why) => why !== undefined && troubles++,
  });
  const runner = { url: plane.url, headers: worker.headers, job: job.id };
  for (const [at, text] of inOrder(40).entries()) await post(runner, text, at + 1);
  await end(runner, 40);
  expect(await followed).toMatchObject({ status: "SUCCESS", log_complete: true });
  expect(seen.map(({ log_chunk }) => log_chunk)).toEqual(inOrder(40));
  expect(troubles).toBeGreaterThan(2);
});

test("following continues after the server was killed and restarted", async () => {
  using place = scratch();
  const directory = place.path;
  const first = spawnServer(directory);
  const url = await first.ready;
  const { headers: browser } = await ask({ url }, "GET", await newLink(directory));
  const cookie = cookieOf({ headers: browser } as never) ?? "";
  const login = await approve({ url }, { headers: { cookie, origin: url } });
  const { device_code, verification_code } = login;
  const tokens = await call(url, "exchangeDeviceLogin", {
    body: { device_code, verification_code },
  });
  const token = tokens?.access_token ?? "";
  const env = { WINDLASS_URL: url, WINDLASS_TOKEN: token, WINDLASS_CONFIG_DIR: directory };
  const json = async (...words: string[]) =>
    JSON.parse((await windlass([...words, "--json"], { env })).stdout as string) as never;
  const { id: zone_id } = (await json("zones", "create", "zone")) as { id: string };
  const headers = { authorization: `Bearer ${token}` };
  const source = { type: "inline" as const, files: { "main.tf": "" } };
  const body = { name: "one", zone_id, source };
  await call(url, "createConfiguration", { body }, { headers });
  const worker = await call(url, "createWorker", { body: { name: "one" } }, { headers });
  const { id } = (await json("jobs", "plan", "one")) as { id: string };
  const runner = {
    url,
    job: id,
    headers: {
      "x-worker-id": worker?.worker_id ?? "",
      "x-worker-token": worker?.worker_token ?? "",
    },
  };
  await call(url, "claimJob", { query: {} }, { headers: runner.headers });
  await post(runner, "before\n", 1);

  const follower = windlass(["jobs", "logs", id, "--follow"], { env });
  let shown = "";
  let said = "";
  follower.stdout?.on("data", (text: Buffer) => void (shown += text.toString()));
  follower.stderr?.on("data", (text: Buffer) => void (said += text.toString()));
  await until(() => shown === "before\n");
  first.kill("SIGKILL");
  await first.exited;
  await until(() => said.includes("Reconnecting"));
  await using second = spawnServer(directory, { WINDLASS_PORT: new URL(url).port });
  await second.ready;
  await post(runner, "after\n", 2);
  await end(runner, 2);
  expect(await follower).toMatchObject({ exitCode: 0, stdout: "before\nafter" });
  expect(said).toContain("Reconnected.");
  second.kill("SIGTERM");
  await second.exited;
});
