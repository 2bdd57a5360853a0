/** A network that loses calls: every report of the agent arrives once all the same. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../helpers/agent/agent-process.ts";
import { heldTerraform } from "../helpers/agent/held-terraform.ts";
import { archiveOf, configuration, keep, rightResult, sideEffects, written } from "./kill-jobs.ts";
import { commandsOf } from "./kill-points.ts";
import { faultProxy, type OwnResponse, type ProxiedCall } from "../helpers/network/fault-proxy.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile({ WINDLASS_HEARTBEAT_SECONDS: "1" });

/** The kind of a runner's call: `PUT status SUCCESS`, `POST logs`, `LOCK state`. */
function kindOf({ method, path, body }: ProxiedCall): string {
  const noun = /\/(claim|heartbeat|logs|plan-artifact|proof|source|status|state|register)\b/.exec(
    path,
  )?.[1];
  const { status } = JSON.parse(body || "{}") as { status?: string };
  return [method, noun, status].filter(Boolean).join(" ");
}

/** A user whose agent calls through the proxy, with a terraform whose commands are counted. */
async function machineBehindProxy() {
  const proxy = await faultProxy(plane.url);
  let terraform!: ReturnType<typeof heldTerraform>;
  const owner = await userMachine(plane, {
    agent: (place) => {
      terraform = heldTerraform(join(place, "bin"));
      // A sandbox would hide the script that counts the commands.
      const WINDLASS_ISOLATION = process.getuid?.() === 0 ? "uid" : "process";
      return { WINDLASS_URL: proxy.url, PATH: terraform.path, WINDLASS_ISOLATION };
    },
  });
  const { user, work, path } = owner;
  const source = await archiveOf(join(path, "source"), configuration(join(path, "bin")));
  const configuration_id = await user.configure({
    source: { type: "archive", sha256: await user.upload(source) },
  });
  await owner.ready();
  return {
    user,
    proxy,
    terraform,
    work,
    path,
    configuration_id,
    [Symbol.asyncDispose]: async () => {
      await owner[Symbol.asyncDispose]();
      await proxy.close();
    },
  };
}

const page = { type: "text/html", text: "<h1>Down for maintenance</h1>" };

test.each([
  ["loses a request and a response", false, false],
  ["gets a proxy's 404 and its 200", { status: 404, ...page }, { status: 200, ...page }],
] as const)(
  "each job runs once and has its whole log when every kind of call %s",
  async (_, request, response) => {
    await using machine = await machineBehindProxy();
    const { user, proxy, terraform, work, path, configuration_id } = machine;
    const lost = new Set<string>();
    let kept = "";
    let runs = "";
    const lose = (part: "request" | "response", call: ProxiedCall): boolean | OwnResponse => {
      const loss = `${kindOf(call)}, ${part}`;
      if (lost.has(loss)) return true;
      lost.add(loss);
      // Terraform itself takes a proxy's response for the control plane's.
      const isTerraforms = call.path.includes("/api/state/");
      return isTerraforms ? false : { request, response }[part];
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
      const before = sideEffects(join(path, "bin"));
      const job = await user.queue({
        job_type: kind === "PLAN" ? "PLAN" : "DEPLOY",
        configuration_id,
        ...(plan_job_id === undefined ? {} : { plan_job_id }),
      });
      plan_job_id = job.id;
      [kept, runs] = [join(path, job.id), join(work, "jobs", job.id, "runs")];
      const end = await user.released(job);
      expect(end).toMatchObject({
        status: "SUCCESS",
        attempt: 1,
        error_message: null,
        log_complete: true,
      });
      expect(terraform.ran().filter((command) => command !== "version")).toEqual(commandsOf[kind]);
      await rightResult(user, kind, end, before, sideEffects(join(path, "bin")));
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
      "POST proof",
      "POST state",
      "PUT status PROCESSING",
      "PUT status SUCCESS",
      "UNLOCK state",
    ];
    expect([...lost].toSorted()).toEqual(
      calls.flatMap((call) => [`${call}, request`, `${call}, response`]).toSorted(),
    );
  },
);
