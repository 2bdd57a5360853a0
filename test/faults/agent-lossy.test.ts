/** A network that loses calls: every report of the agent arrives once all the same. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch, startAgent, until } from "../helpers/agent-process.ts";
import { heldTerraform } from "../helpers/held-terraform.ts";
import {
  archiveOf,
  configuration,
  keep,
  rightResult,
  sideEffects,
  written,
} from "../helpers/kill-jobs.ts";
import { commandsOf } from "../helpers/kill-points.ts";
import { faultProxy, type ProxiedCall } from "../helpers/fault-proxy.ts";
import { planeForFile } from "../helpers/plane-for-file.ts";
import { newUser } from "../helpers/user.ts";

const { plane } = planeForFile({ WINDLASS_HEARTBEAT_SECONDS: "1" });

/** The kind of a runner's call: `PUT status SUCCESS`, `POST logs`, `LOCK state`. */
function kindOf({ method, path, body }: ProxiedCall): string {
  const noun = /\/(claim|heartbeat|logs|plan-artifact|source|status|state|register)\b/.exec(
    path,
  )?.[1];
  const { status } = JSON.parse(body || "{}") as { status?: string };
  return [method, noun, status].filter(Boolean).join(" ");
}

/** A user whose agent calls through the proxy, with a terraform whose commands are counted. */
async function machineBehindProxy(place: string, more: Record<string, string> = {}) {
  const user = await newUser(plane);
  const proxy = await faultProxy(plane.url);
  const terraform = heldTerraform(join(place, "bin"));
  const work = join(place, "work");
  const agent = startAgent({
    WINDLASS_URL: proxy.url,
    WINDLASS_WORK_DIR: work,
    WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
    PATH: terraform.path,
    // A sandbox would hide the script that counts the commands.
    WINDLASS_ISOLATION: process.getuid?.() === 0 ? "uid" : "process",
    ...more,
  });
  const source = await archiveOf(join(place, "source"), configuration(join(place, "bin")));
  const configuration_id = await user.configure({
    source: { type: "archive", sha256: await user.upload(source) },
  });
  await until(() => agent.log().includes("ready for jobs"));
  return {
    user,
    proxy,
    terraform,
    work,
    agent,
    configuration_id,
    [Symbol.asyncDispose]: async () => {
      await agent[Symbol.asyncDispose]();
      await proxy.close();
    },
  };
}

test("each job runs once and has its whole log when every kind of call loses a request and a response", async () => {
  using place = scratch();
  await using one = await machineBehindProxy(place.path);
  const { user, proxy, terraform, work, configuration_id } = one;
  const lost = new Set<string>();
  let kept = "";
  let runs = "";
  const lose = (part: string, call: ProxiedCall): boolean => {
    const loss = `${kindOf(call)}, ${part}`;
    if (lost.has(loss)) return true;
    lost.add(loss);
    return false;
  };
  proxy.onRequest = (call) => {
    if (/^PUT status [SFC]/.test(kindOf(call))) keep(runs, kept);
    return lose("request", call);
  };
  // A response to a claim without a job is not lost, as it has no content.
  proxy.onAnswer = (call, status) => status === 204 || lose("response", call);
  let plan_job_id: string | undefined;
  for (const kind of ["PLAN", "DEPLOY of a plan"] as const) {
    terraform.forget();
    const before = sideEffects(join(place.path, "bin"));
    const job = await user.queue({
      job_type: kind === "PLAN" ? "PLAN" : "DEPLOY",
      configuration_id,
      ...(plan_job_id === undefined ? {} : { plan_job_id }),
    });
    plan_job_id = job.id;
    [kept, runs] = [join(place.path, job.id), join(work, "jobs", job.id, "runs")];
    const end = await user.released(job);
    expect(end).toMatchObject({
      status: "SUCCESS",
      attempt: 1,
      error_message: null,
      log_complete: true,
    });
    expect(terraform.ran().filter((command) => command !== "version")).toEqual(commandsOf[kind]);
    await rightResult(user, kind, end, before, sideEffects(join(place.path, "bin")));
    for (const stream of ["STDOUT", "STDERR"])
      expect(await user.log(job, stream)).toBe(written(kept, stream.toLowerCase()));
    await until(() => readdirSync(join(work, "jobs")).length === 0);
  }
  const calls = [
    "GET plan-artifact",
    "GET source",
    "GET state",
    "LOCK state",
    "POST claim",
    "POST heartbeat",
    "POST logs",
    "POST plan-artifact",
    "POST state",
    "PUT status PROCESSING",
    "PUT status SUCCESS",
    "UNLOCK state",
  ];
  expect([...lost].toSorted()).toEqual(
    calls.flatMap((call) => [`${call}, request`, `${call}, response`]).toSorted(),
  );
});
