/**
 * Random events of a control plane: user requests, runners that lose responses and report late,
 * time, and restarts.
 */
import { RefusalError } from "../../../control-plane/domain/refusal.ts";
import { reportStatus } from "../../../control-plane/services/jobs/reports.ts";
import { appendLogs } from "../../../control-plane/services/logs/append.ts";
import { heartbeat } from "../../../control-plane/services/workers/heartbeats.ts";
import { retryJob } from "../../../control-plane/services/jobs/retry.ts";
import { cancelJob, createJob } from "../../../control-plane/services/jobs/jobs.ts";
import { breakStateLock } from "../../../control-plane/services/states/versions.ts";
import { lockState, unlockState } from "../../../control-plane/services/states/states.ts";
import { deleteWorker, setDraining } from "../../../control-plane/services/workers/workers.ts";
import { addSpec, addWorker, addOwner, type Owner } from "../../helpers/plane/rows.ts";
import { origin } from "../../helpers/people/sign-in.ts";
import { workerTokenHash, type World } from "./world.ts";

export type Random = (below: number) => number;

/**
 * What a runner knows of a job that it got. It forgets nothing, so that it can report everything
 * late.
 */
interface HeldJob {
  readonly id: string;
  readonly attempt: number;
  readonly token: string;
  readonly spec: string;
  runs: boolean;
  ended: boolean;
}

export interface Runner {
  readonly id: string;
  key: number;
  given: HeldJob[];
}

export interface Scene {
  readonly world: World;
  readonly random: Random;
  readonly owner: Owner;
  readonly specs: readonly string[];
  readonly runners: Runner[];
  /** The attempts of a job that have run terraform: the response to PROCESSING was read. */
  readonly ran: Map<string, Set<number>>;
  /** The jobs for which an end report was accepted, with the status of the last report. */
  readonly reported: Map<string, string>;
}

/** Adds two configurations and three runners of one user, one of them with a label. */
export async function openScene(world: World, random: Random): Promise<Scene> {
  const { store } = world.context;
  const owner = await addOwner(store);
  const specs = [await addSpec(store, owner), await addSpec(store, owner)];
  const scene = { world, random, owner, specs, runners: [], ran: new Map(), reported: new Map() };
  for (let count = 0; count < 3; count++) await addRunner(scene, count === 0 ? '["gpu"]' : "[]");
  return scene;
}

async function addRunner({ world, owner, specs, runners }: Scene, labels: string): Promise<void> {
  const { context } = world;
  const { id } = await addWorker(context.store, owner, {
    token_hash: workerTokenHash,
    labels,
    created_at: context.now(),
    metadata: JSON.stringify({ deploy_configuration: { configuration_id: specs[0], all: true } }),
  });
  runners.push({ id, key: 0, given: [] });
}

type Event = (scene: Scene) => Promise<unknown>;

const pick = <T>({ random }: Scene, from: readonly T[]): T | undefined => from[random(from.length)];
const person = ({ owner }: Scene) => ({
  user_id: owner.id,
  email: "",
  login_id: "",
  login_kind: "cli" as const,
  space_id: owner.id,
  role: "admin" as const,
  spaces: [],
  origin,
});
const jobs = ({ world }: Scene): { id: string }[] =>
  world.connection.prepare("select id from jobs").all() as { id: string }[];

const create: Event = (scene) => {
  const { random, specs, runners } = scene;
  const job_type = pick(scene, ["PLAN", "DEPLOY", "DEPLOY", "DESTROY", "DESTROY_WORKER"] as const)!;
  const target = pick(scene, runners)?.id;
  if (job_type === "DESTROY_WORKER")
    return random(3) === 0
      ? createJob(scene.world.context, person(scene), { job_type, assigned_worker_id: target! })
      : Promise.resolve();
  return createJob(scene.world.context, person(scene), {
    job_type,
    configuration_id: pick(scene, specs)!,
    ...(random(5) === 0 && target ? { assigned_worker_id: target } : {}),
    ...(random(6) === 0 ? { labels: ["gpu"] } : {}),
  });
};

interface Claimed {
  readonly job: { id: string; attempt: number; job_token: string; spec_id: string };
}

/** A claim. Its response may be lost, and then the runner repeats it with the same key. */
const claim: Event = async (scene) => {
  const { world, random } = scene;
  const runner = pick(scene, scene.runners);
  if (!runner) return;
  const ask = async () => {
    const worker = await world.workerCaller(runner.id);
    // The claim was authorized a moment before a user drains or removes the worker.

    if (random(12) === 0) await (random(2) === 0 ? remove(scene) : drain(scene));
    const answer = await world.claims().claim({
      worker,
      key: `${runner.id}-${runner.key}`,
      waitMilliseconds: 0,
      disconnected: () => new AbortController().signal,
    });
    return answer === null ? null : (JSON.parse(answer) as Claimed).job;
  };
  const answers = await Promise.all(random(6) === 0 ? [ask(), ask()] : [ask()]);
  const given = answers.filter((answer) => answer !== null);
  if (new Set(given.map(({ id }) => id)).size > 1)
    throw new Error("one key was answered with two jobs");
  const [first] = given;
  if (!first || random(5) === 0) return;
  runner.key++;
  const { id, attempt, job_token: token, spec_id: spec } = first;
  if (!runner.given.some((known) => known.id === id && known.attempt === attempt))
    runner.given.push({ id, attempt, token, spec, runs: false, ended: false });
};

const withGiven =
  (act: (scene: Scene, runner: Runner, given: HeldJob) => Promise<unknown>): Event =>
  async (scene) => {
    const runner = pick(scene, scene.runners);
    const given = runner && pick(scene, runner.given);
    if (runner && given) await act(scene, runner, given);
  };

const start = withGiven(async ({ world, random, ran }, runner, given) => {
  const worker = await world.workerCaller(runner.id);
  const job = await reportStatus(world.context, worker, given.id, given.attempt, {
    status: "PROCESSING",
  });
  if (job.status !== "PROCESSING") throw new Error("a runner was told to run what has ended");
  if (random(5) === 0) return;
  given.runs = true;
  const attempts = ran.get(given.id) ?? new Set();
  ran.set(given.id, attempts.add(given.attempt));
});

const log = withGiven(async ({ world }, runner, given) => {
  const worker = await world.workerCaller(runner.id);
  const chunk = { log_chunk: "x", stream_type: "STDOUT" } as const;
  await appendLogs(world.context, worker, given.id, given.attempt, chunk);
});

/** Also for a lost job, and repeatedly. */
const end = withGiven(async (scene, runner, given) => {
  const { world, random, reported } = scene;
  const worker = await world.workerCaller(runner.id);
  const status = given.runs
    ? pick(scene, ["SUCCESS", "SUCCESS", "FAILED", "CANCELLED"] as const)!
    : pick(scene, ["FAILED", "CANCELLED"] as const)!;
  await reportStatus(world.context, worker, given.id, given.attempt, {
    status,
    ...(random(2) === 0 ? { error_message: "said", last_seq: 0 } : {}),
  });
  given.ended = true;
  reported.set(given.id, status);
});

const asJob = (world: World, { id, token, spec }: HeldJob) => world.jobCaller(id, token, spec);
const lock = withGiven(async ({ world }, _, given) => {
  const info = JSON.stringify({ ID: given.id });
  await lockState(world.context, await asJob(world, given), { id: given.id, info });
});
const unlock = withGiven(async ({ world }, _, given) => {
  await unlockState(world.context, await asJob(world, given), given.id);
});

/** With the list of its jobs, with one job left out, or without a list. */
const beat: Event = async (scene) => {
  const { world, random } = scene;
  const runner = pick(scene, scene.runners);
  if (!runner) return;
  const active = runner.given.filter(({ ended }) => !ended).map(({ id }) => id);
  const lists = [{}, { active_job_ids: active }, { active_job_ids: active.slice(1) }];
  await heartbeat(world.context, {
    worker: await world.workerCaller(runner.id),
    body: { version: "1.0.0", ...lists[random(3)] },
    waitMilliseconds: 0,
    disconnected: () => new AbortController().signal,
  });
};

const aJob =
  (act: (scene: Scene, id: string) => Promise<unknown>): Event =>
  (scene) => {
    const job = pick(scene, jobs(scene));
    return job ? act(scene, job.id) : Promise.resolve();
  };
const cancel = aJob((scene, id) => cancelJob(scene.world.context, person(scene), id));
const retry = aJob((scene, id) => retryJob(scene.world.context, person(scene), id));

const drain: Event = async (scene) => {
  const runner = pick(scene, scene.runners);
  if (runner)
    await setDraining(scene.world.context, person(scene), runner.id, scene.random(3) === 0);
};
/** Deletes the worker. Its runner continues and reports late. */
const remove: Event = async (scene) => {
  const runner = pick(scene, scene.runners);
  if (!runner || scene.random(3) > 0) return;
  await deleteWorker(scene.world.context, person(scene), runner.id);
  await addRunner(scene, "[]");
};
const breakLock: Event = async (scene) =>
  breakStateLock(scene.world.context, person(scene), pick(scene, scene.specs)!);

const pass: Event = async ({ world, random }) => {
  world.pass([10, 5000, 31_000, 61_000, 300_000, 901_000][random(6)]!);
  await world.watch();
};
const restart: Event = async ({ world, random }) => {
  world.pass([10, 1000, 3_600_000][random(3)]!);
  await world.restart();
  await world.watch();
};
/** No runner calls for as long as a lost job may stay undecided. */
const silence: Event = async ({ world }) => {
  for (const period of [60_000, 30_000, 1]) {
    world.pass(period);
    await world.watch();
  }
};

/** Event by name, with its relative frequency. */
export const events: Readonly<Record<string, readonly [weight: number, event: Event]>> = {
  create: [10, create],
  claim: [16, claim],
  start: [14, start],
  log: [3, log],
  lock: [8, lock],
  unlock: [4, unlock],
  end: [10, end],
  beat: [10, beat],
  cancel: [5, cancel],
  retry: [2, retry],
  drain: [2, drain],
  remove: [2, remove],
  breakLock: [2, breakLock],
  pass: [8, pass],
  restart: [2, restart],
  silence: [2, silence],
};

/** Runs one event. A refusal is a normal response; any other error is a defect. */
export async function happen(scene: Scene, name: string): Promise<void> {
  scene.world.pass(1);
  try {
    await events[name]![1](scene);
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
  }
}
