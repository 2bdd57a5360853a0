/**
 * The moments of a job at which its agent is killed. Each is held open from outside (a call in the
 * proxy, terraform in its script, a frozen agent) or, if nothing outside can be held, hit within
 * milliseconds of its journal entry.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stepsOf } from "../../agent/job/steps.ts";
import { hasExited } from "../../agent/job/terraform/process.ts";
import { until, type AgentProcess } from "../helpers/agent/agent-process.ts";
import type { HeldTerraform } from "../helpers/agent/held-terraform.ts";
import type { FaultProxy, ProxiedCall } from "../helpers/network/fault-proxy.ts";

export const kinds = ["PLAN", "DEPLOY of a plan", "DEPLOY", "DESTROY", "DESTROY_WORKER"] as const;
export type Kind = (typeof kinds)[number];

/** The terraform commands of a job of each kind, in order. */
export const commandsOf: Readonly<Record<Kind, readonly string[]>> = {
  PLAN: ["init", "plan", "show"],
  "DEPLOY of a plan": ["init", "apply", "show"],
  DEPLOY: ["init", "plan", "apply"],
  DESTROY: ["init", "plan", "apply"],
  DESTROY_WORKER: ["init", "plan", "show", "apply"],
};

export interface Stand {
  readonly proxy: FaultProxy;
  readonly terraform: HeldTerraform;
  readonly agent: AgentProcess;
  /** A provisioner continues when this file is removed. */
  readonly gate: string;
  /** The agent's directory `jobs/<id>`, once the job has an id. */
  readonly directory: Promise<string>;
}

export interface Reached {
  /** Resolves when the job has reached the point. */
  readonly reached: Promise<unknown>;
  /** Called after the kill. */
  letGo(): void;
}

export interface Point {
  readonly name: string;
  readonly of: readonly Kind[];
  arm(stand: Stand): Reached;
}

const withCommand = (command: string): Kind[] =>
  kinds.filter((kind) => commandsOf[kind].includes(command));

const isReport =
  (...statuses: string[]) =>
  ({ method, path, body }: ProxiedCall): boolean =>
    method === "PUT" &&
    path.endsWith("/status") &&
    statuses.includes((JSON.parse(body) as { status: string }).status);
const calls =
  (wanted: string, end: string) =>
  ({ method, path }: ProxiedCall): boolean =>
    method === wanted && path.endsWith(end);

/**
 * Holds the first such call on its way there or back. After the kill it is lost, or passes if
 * terraform made it.
 */
function held(
  way: "onRequest" | "onAnswer",
  is: (call: ProxiedCall, stand: Stand, status?: number) => boolean,
  after: "lost" | "passes" = "lost",
) {
  return (stand: Stand): Reached => {
    const there = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    let isOver = false;
    const before = stand.proxy[way];
    stand.proxy[way] = async (call: ProxiedCall, status?: number) => {
      if (isOver || !is(call, stand, status)) return before(call, status ?? 0);
      isOver = true;
      there.resolve();
      await gone.promise;
      return after === "passes";
    };
    return { reached: there.promise, letGo: gone.resolve };
  };
}

const journalSays =
  (text: string) =>
  (stand: Stand): Reached => ({
    reached: stand.directory.then(async (directory) => {
      const path = join(directory, "journal.ndjson");
      // The last moment may be over between two looks.
      for (let seen = false; ; seen ||= existsSync(path)) {
        const now = existsSync(path) ? readFileSync(path, "utf8") : undefined;
        if (now?.includes(text) || (seen && now === undefined)) return;
        await sleep(1);
      }
    }),
    letGo: () => undefined,
  });

/**
 * Freezes the agent while terraform ends and its exit code is written. Then the agent is killed.
 */
const unread =
  (command: string) =>
  (stand: Stand): Reached => {
    const place = stand.terraform.hold(`end-${command}`);
    const reached = async (): Promise<void> => {
      await place.reached;
      const runs = join(await stand.directory, "runs");
      stand.agent.kill("SIGSTOP");
      place.letGo();
      // A DEPLOY shows what its apply has made known in the step "values".
      const commands = command === "show" ? ["show", "values"] : [command];
      const names = ["05", "06", "07", "08", "09", "10"].flatMap((at) =>
        commands.flatMap((name) => [`${at}-${name}`, `${at}-${name}-whole`]),
      );
      await until(() => names.some((name) => hasExited(join(runs, name))));
    };
    return { reached: reached(), letGo: () => undefined };
  };

/** Terraform's own state calls show where it is. */
const stateCalls: Readonly<Record<string, string>> = {
  init: "GET",
  plan: "LOCK",
  apply: "POST",
};

const commandPoints = (command: string): Point[] => {
  const of = withCommand(command);
  const terraform = (place: string) => (stand: Stand) => stand.terraform.hold(place);
  const method = stateCalls[command];
  return [
    { name: `${command}: before terraform runs`, of, arm: terraform(`begin-${command}`) },
    ...(method === undefined
      ? []
      : [
          {
            name: `${command}: while terraform waits for its state (${method})`,
            of,
            arm: held(
              "onRequest",
              (call, stand) =>
                call.path.includes("/api/state/") &&
                call.method === method &&
                stand.terraform.ran().at(-1) === command,
              "passes",
            ),
          },
        ]),
    {
      name: `${command}: terraform ends while no agent runs`,
      of,
      arm: terraform(`end-${command}`),
    },
    { name: `${command}: exit code written, not read`, of, arm: unread(command) },
  ];
};

const midApply = ({ gate, terraform }: Stand): Reached => {
  writeFileSync(gate, "");
  rmSync(`${gate}-reached`, { force: true });
  const reached = until(() => terraform.ran().at(-1) === "apply" && existsSync(`${gate}-reached`));
  return { reached, letGo: () => rmSync(gate) };
};

const stepNames = [
  ...new Set(
    (["PLAN", "DEPLOY", "DESTROY", "DESTROY_WORKER"] as const).flatMap((type) =>
      stepsOf(type).map(({ name }) => name),
    ),
  ),
];
const withStep = (step: string): Kind[] =>
  kinds.filter((kind) =>
    stepsOf(kind === "DEPLOY of a plan" ? "DEPLOY" : kind).some(({ name }) => name === step),
  );
const ends = isReport("SUCCESS", "FAILED", "CANCELLED");

/** The points in the order of a job's life. */
export const points: readonly Point[] = [
  {
    name: "the claim's response is lost",
    of: kinds,
    arm: held("onAnswer", (call, _, status) => calls("POST", "/claim")(call) && status === 200),
  },
  {
    name: "claimed, the report of its start is lost",
    of: kinds,
    arm: held("onRequest", isReport("PROCESSING")),
  },
  {
    name: "start reported, the response is lost",
    of: kinds,
    arm: held("onAnswer", isReport("PROCESSING")),
  },
  {
    name: "the first log post is lost",
    of: kinds,
    arm: held("onRequest", calls("POST", "/logs")),
  },
  {
    name: "the first log post is stored, the response is lost",
    of: kinds,
    arm: held("onAnswer", calls("POST", "/logs")),
  },
  ...stepNames.flatMap((step): Point[] => [
    {
      name: `step ${step} begun`,
      of: withStep(step),
      arm: journalSays(`{"at":"begun","step":"${step}"`),
    },
    {
      name: `step ${step} done`,
      of: withStep(step),
      arm: journalSays(`{"at":"done","step":"${step}"`),
    },
  ]),
  {
    name: "the source is being downloaded",
    of: kinds,
    arm: held("onAnswer", calls("GET", "/source")),
  },
  {
    name: "the plan is being downloaded",
    of: ["DEPLOY of a plan"],
    arm: held("onAnswer", calls("GET", "/plan-artifact")),
  },
  {
    name: "the engine is asked for its version",
    of: kinds,
    arm: ({ terraform }) => terraform.hold("begin-version"),
  },
  ...["init", "plan", "show", "apply"].flatMap(commandPoints),
  {
    name: "apply: a provisioner runs",
    of: withCommand("apply"),
    arm: midApply,
  },
  {
    name: "the plan is being uploaded",
    of: ["PLAN"],
    arm: held("onRequest", calls("POST", "/plan-artifact")),
  },
  {
    name: "the plan is stored, the response is lost",
    of: ["PLAN"],
    arm: held("onAnswer", calls("POST", "/plan-artifact")),
  },
  { name: "the outcome is decided", of: kinds, arm: journalSays('{"at":"ended"') },
  { name: "the report of its end is lost", of: kinds, arm: held("onRequest", ends) },
  { name: "end reported, the response is lost", of: kinds, arm: held("onAnswer", ends) },
  { name: "its files are being removed", of: kinds, arm: journalSays('{"at":"reported"') },
];
