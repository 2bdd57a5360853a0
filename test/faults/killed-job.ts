/**
 * One job whose agent is killed with SIGKILL at a certain moment and started again, with everything
 * that must hold afterwards.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { until } from "../helpers/agent/agent-process.ts";
import { heldTerraform, type HeldTerraform } from "../helpers/agent/held-terraform.ts";
import {
  archiveOf,
  configuration,
  keep,
  prepare,
  rightResult,
  sideEffects,
  written,
} from "./kill-jobs.ts";
import { commandsOf, type Kind, type Point } from "./kill-points.ts";
import { faultProxy } from "../helpers/network/fault-proxy.ts";
import type { Plane } from "../helpers/plane/plane.ts";
import { processesOf } from "../helpers/machine/processes.ts";

/**
 * Checks that each terraform command ran once, the result is right, stdout and stderr are complete,
 * and no lock or anything else is left.
 */
export async function killedJob(plane: Plane, kind: Kind, point: Point): Promise<void> {
  const proxy = await faultProxy(plane.url);
  await using _ = { [Symbol.asyncDispose]: () => proxy.close() };
  let held: HeldTerraform | undefined;
  await using owner = await userMachine(plane, {
    agent: (place) => {
      held = heldTerraform(join(place, "bin"));
      return {
        WINDLASS_URL: proxy.url,
        PATH: held.path,
        // A sandbox would hide the script and its counts. isolation.test.ts shows that jobs in a
        // sandbox survive too.
        WINDLASS_ISOLATION: process.getuid?.() === 0 ? "uid" : "process",
      };
    },
  });
  const terraform = held as HeldTerraform;
  const { user, path: place, work, agent: first } = owner;
  const [marks, kept] = [join(place, "bin"), join(place, "kept")];
  const source = await archiveOf(join(place, "source"), configuration(marks));
  const configuration_id = await user.configure({
    source: { type: "archive", sha256: await user.upload(source) },
  });
  const queue = await prepare(user, kind, configuration_id);
  await owner.ready();
  await until(() => readdirSync(join(work, "jobs")).length === 0);
  const before = sideEffects(marks);
  terraform.forget();

  const directory = Promise.withResolvers<string>();
  proxy.onRequest = async ({ method, path, body }) => {
    if (method === "PUT" && path.endsWith("/status") && !body.includes('"PROCESSING"'))
      keep(join(await directory.promise, "runs"), kept);
    return true;
  };
  const armed = point.arm({
    proxy,
    terraform,
    agent: first,
    gate: join(marks, "gate"),
    directory: directory.promise,
  });
  const job = await queue();
  directory.resolve(join(work, "jobs", job.id));
  await armed.reached;
  first.kill("SIGKILL");
  expect(await first.exited).toBeNull();
  armed.letGo();

  const second = owner.restart();
  const end = await user.released(job);
  expect(end).toMatchObject({
    status: "SUCCESS",
    error_message: null,
    attempt: 1,
    log_complete: true,
  });
  expect(terraform.ran().filter((command) => command !== "version")).toEqual(commandsOf[kind]);
  await rightResult(user, kind, end, before, sideEffects(marks));
  expect(await user.log(job, "STDOUT")).toBe(written(kept, "stdout"));
  expect(await user.log(job, "STDERR")).toBe(written(kept, "stderr"));

  await owner.ready();
  await until(() =>
    ["jobs", "workspaces"].every((name) => readdirSync(join(work, name)).length === 0),
  );
  await until(() => processesOf(place).every((line) => line.startsWith(`${second.pid}:`)));
  second.kill("SIGTERM");
  expect(await second.exited).toBe(0);
}
