import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../helpers/agent/agent-process.ts";
import { listenAsSystemd } from "../helpers/machine/notify-socket.ts";
import { spawnServer } from "../helpers/plane/server-process.ts";
import { lackOfProgram, skipAt } from "../helpers/project/tools.ts";

skipAt(lackOfProgram("python3", "systemd-notify"));

test("systemd is notified when the server is ready, and when it stops", async () => {
  using place = scratch();
  await using socket = await listenAsSystemd(place.path);
  await using server = spawnServer(join(place.path, "data"), { NOTIFY_SOCKET: socket.path });
  await socket.receives("READY=1");
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  await socket.receives("STOPPING=1");
});
