/** The health endpoints, metrics and systemd notifications of a real agent. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { createServer, connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scratch, startAgent, until } from "../../helpers/agent/agent-process.ts";
import { startInterfaceOnlyServer } from "../../helpers/agent/interface-only-server.ts";
import { listenAsSystemd } from "../../helpers/machine/notify-socket.ts";
import { listen } from "../../helpers/network/listen.ts";
import { windlass } from "../../helpers/cli/windlass.ts";
import { lackOfProgram, skipAt } from "../../helpers/project/tools.ts";

test("an agent is ready while the control plane responds, and healthy even while it does not", async () => {
  await using server = await startInterfaceOnlyServer();
  using place = scratch();
  await using agent = startAgent({
    ...server.settings,
    WINDLASS_WORK_DIR: place.path,
    WINDLASS_STATUS_ADDRESS: "127.0.0.1:0",
    WINDLASS_HEARTBEAT_SECONDS: "0.3",
  });
  const url = await until(() => /"url":"(http:[^"]+)"/.exec(agent.log())?.[1]);
  await until(() => agent.log().includes("ready for jobs"));
  const read = async (path: string) => {
    const response = await fetch(`${url}${path}`);
    return [response.status, await response.json()];
  };
  expect(await read("/healthz")).toEqual([200, { status: "ok" }]);
  expect(await read("/readyz")).toEqual([200, { status: "ready", seconds_since_contact: 0 }]);

  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(/^windlass_agent_info\{version="[^"]+",isolation="\w+"\} 1$/m);
  expect(metrics).toMatch(/^windlass_agent_slots 1$/m);
  expect(metrics).toMatch(/^windlass_agent_jobs_running 0$/m);
  expect(Number(/^windlass_agent_disk_free_bytes (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
  expect(metrics).not.toContain(server.workerToken);
  expect((await fetch(`${url}/else`)).status).toBe(404);
  expect((await fetch(`${url}/healthz`, { method: "POST" })).status).toBe(405);

  server.fail(503);
  const silent = await untilStatus(`${url}/readyz`, 503);
  expect(await silent.json()).toMatchObject({ status: "no_contact" });
  // A restart of the agent would not help.
  expect(await read("/healthz")).toEqual([200, { status: "ok" }]);
  server.fail();
  await untilStatus(`${url}/readyz`, 200);
});

test("windlass agent health asks the agent at its socket, without an address", async () => {
  await using server = await startInterfaceOnlyServer();
  using place = scratch();
  const env = { ...server.settings, WINDLASS_WORK_DIR: place.path };
  await using agent = startAgent(env);
  await until(() => agent.log().includes("ready for jobs"));
  const works = { exitCode: 0, stdout: '{"status":"ok"}' };
  expect(await windlass(["agent", "health"], { env })).toMatchObject(works);
  expect(statSync(join(place.path, "status.sock")).mode & 0o777).toBe(0o600);
  agent.kill("SIGKILL");
  await agent.exited;
  const { exitCode, stderr } = await windlass(["agent", "health"], { env });
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("ECONNREFUSED")]);
  // The socket that the killed one has left is no obstacle.
  await using next = startAgent(env);
  await until(() => next.log().includes("status.sock"));
  expect(await windlass(["agent", "health"], { env })).toMatchObject(works);
});

describe("the address of the status, which jobs can reach", () => {
  skipAt(lackOfProgram("prlimit"));

  test("takes few connections, and those for a few seconds", async () => {
    await using server = await startInterfaceOnlyServer();
    using place = scratch();
    await using agent = startAgent({
      ...server.settings,
      WINDLASS_WORK_DIR: place.path,
      WINDLASS_STATUS_ADDRESS: "127.0.0.1:0",
      WINDLASS_HEARTBEAT_SECONDS: "0.2",
    });
    const port = await until(() => /"url":"http:[^"]+:(\d+)"/.exec(agent.log())?.[1]);
    await until(() => agent.log().includes("ready for jobs"));
    const limit = spawn("prlimit", ["--pid", String(agent.pid), "--nofile=120:120"]);
    expect(await once(limit, "exit")).toEqual([0, null]);
    const open = new Set<Socket>();
    for (let count = 0; count < 300; count++) {
      const socket = connect(Number(port), "127.0.0.1");
      open.add(socket);
      socket.on("error", () => undefined).once("close", () => open.delete(socket));
    }
    try {
      await until(() => open.size <= 32);
      const seen = server.heartbeats.length;
      await until(() => server.heartbeats.length > seen + 2);
      const env = { ...server.settings, WINDLASS_WORK_DIR: place.path };
      expect((await windlass(["agent", "health"], { env })).exitCode).toBe(0);
      // The others have sent no request for five seconds.
      await until(() => open.size === 0);
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    } finally {
      for (const socket of open) socket.destroy();
    }
  });

  test("keeps no agent from starting while it is in use, and is served once it is free", async () => {
    await using server = await startInterfaceOnlyServer();
    using place = scratch();
    const taken = await listen(createServer());
    await using agent = startAgent({
      ...server.settings,
      WINDLASS_WORK_DIR: place.path,
      WINDLASS_STATUS_ADDRESS: new URL(taken.url).host,
    });
    await until(() => agent.log().includes("ready for jobs"));
    expect(agent.log()).toContain("EADDRINUSE");
    await taken[Symbol.asyncDispose]();
    await until(() => agent.log().includes(`"url":"${taken.url}"`));
    expect((await fetch(`${taken.url}/healthz`)).status).toBe(200);
  });
});

async function untilStatus(url: string, status: number): Promise<Response> {
  for (;;) {
    const response = await fetch(url);
    if (response.status === status) return response;
    await response.body?.cancel();
  }
}

describe("systemd", () => {
  skipAt(lackOfProgram("python3", "systemd-notify"));

  test("is notified when the agent is ready, and its watchdog also while the control plane is away", async () => {
    await using server = await startInterfaceOnlyServer();
    using place = scratch();
    await using socket = await listenAsSystemd(place.path);
    await using agent = startAgent({
      ...server.settings,
      WINDLASS_WORK_DIR: join(place.path, "work"),
      NOTIFY_SOCKET: socket.path,
      WATCHDOG_USEC: "1200000",
      WINDLASS_HEARTBEAT_SECONDS: "0.1",
    });
    await socket.receives("READY=1");
    await socket.receives("WATCHDOG=1");
    server.fail(503);
    await socket.receives("WATCHDOG=1 STATUS=no response");
    server.fail();
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    await socket.receives("STOPPING=1");
  });
});
