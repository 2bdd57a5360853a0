/**
 * What must hold after every event. Each invariant is read from the tables, not from the responses
 * of the services.
 */
import { expect } from "vitest";
import { hasEnded, isHeld, type JobRow } from "../../../control-plane/domain/job.ts";
import type { StateLockRow } from "../../../control-plane/store/states/states.ts";
import type { Scene } from "./events.ts";

type Jobs = ReadonlyMap<string, JobRow>;

/** All jobs as they are stored. */
export const readJobs = ({ world }: Scene): Jobs =>
  new Map(all<JobRow>(world, "select * from jobs").map((job) => [job.id, job]));

const all = <R>({ connection }: Scene["world"], sql: string): R[] =>
  connection.prepare(sql).all() as R[];

/**
 * Throws with the name of the broken invariant. `before` holds the jobs before the event `name`.
 */
export function check(scene: Scene, before: Jobs, name: string): Jobs {
  const after = readJobs(scene);
  for (const job of after.values()) {
    checkFields(job);
    const was = before.get(job.id);
    if (was) checkChange(was, job, name);
  }
  for (const attempts of scene.ran.values())
    must(attempts.size <= 1, "a job runs at most once, whatever is lost");
  checkSpecs(scene, after);
  checkHolders(scene, after, name);
  checkLocks(scene, after);
  return after;
}

function must(holds: boolean, what: string): void {
  if (!holds) expect.fail(what);
}

function checkFields(job: JobRow): void {
  const { status, worker_id, claimed_at, started_at, released_at, ended_at } = job;
  if (status === "QUEUED")
    must(
      worker_id === null && claimed_at === null && started_at === null && released_at === null,
      "a queued job has no holder, no claim, no start and no release",
    );
  if (status === "PROCESSING") must(isHeld(job), "a processing job is held");
  must(hasEnded(job) === (ended_at !== null), "a job has an end exactly when it has ended");
  if (status === "SUCCESS" || status === "FAILED")
    must(released_at !== null, "a job that succeeded or failed is released");
  if (status === "CANCELLED" && started_at === null)
    must(released_at !== null, "a job that was cancelled before its start is released");
}

function checkChange(was: JobRow, job: JobRow, name: string): void {
  if (was.started_at !== null) {
    must(job.started_at === was.started_at, "a start is never forgotten or moved");
    must(job.status !== "QUEUED", "a started job is never queued again");
    must(job.attempt === was.attempt, "a started job is never claimed again");
    must(job.worker_id === was.worker_id, "a started job keeps its holder");
  }
  if (was.started_at !== null && was.released_at === null && job.released_at !== null)
    must(releasing.has(name), "a started job is released by its runner, its loss or the clock");
  must(job.attempt >= was.attempt, "attempts only grow");
  if (was.released_at !== null)
    must(job.released_at === was.released_at, "a release is never taken back");
  if (hasEnded(was)) {
    must(hasEnded(job), "an end is never taken back");
    if (job.status !== was.status)
      must(name === "end", "only its holder's report changes how a job ended");
  }
  if (job.status === "SUCCESS" && was.status !== "SUCCESS")
    must(name === "end", "only its holder says that a job succeeded");
}

const releasing = new Set(["end", "pass", "restart", "silence", "remove", "claim"]);

function checkSpecs({ world, specs }: Scene, jobs: Jobs): void {
  const rows = all<{ id: string; status: string }>(world, "select id, status from specs");
  for (const { id, status } of rows) {
    must(specs.includes(id), "there are only the scene's configurations");
    const ofSpec = [...jobs.values()].filter(({ spec_id }) => spec_id === id);
    must(ofSpec.filter(isHeld).length <= 1, "a configuration has one unreleased claimed job");
    const running = ofSpec.find(
      (job) => job.status === "PROCESSING" && job.started_at !== null && moves[job.job_type],
    );
    const expected = running ? moves[running.job_type] : undefined;
    if (expected) must(status === expected, `a configuration is ${expected} while it is`);
    else must(!Object.values(moves).includes(status), `a configuration is not ${status} for ever`);
  }
}
const moves: Readonly<Record<string, string>> = { DEPLOY: "DEPLOYING", DESTROY: "DESTROYING" };

function checkHolders({ world }: Scene, jobs: Jobs, name: string): void {
  const workers = new Set(all<{ id: string }>(world, "select id from workers").map(({ id }) => id));
  for (const job of jobs.values()) {
    if (!isHeld(job)) continue;
    must(workers.has(job.worker_id!), "the holder of a job exists, or the job would never be lost");
    must(name !== "silence", "a job whose runner is silent is decided within offline + lost");
  }
}

function checkLocks(scene: Scene, jobs: Jobs): void {
  for (const { job_id, spec_id } of all<StateLockRow>(scene.world, "select * from state_locks")) {
    const job = jobs.get(job_id);
    must(job?.spec_id === spec_id, "a lock belongs to a job of its configuration");
    must(job?.started_at !== null, "a job that holds a lock has started");
    if (job && !isHeld(job))
      must(!scene.reported.has(job_id), "a job that has reported its end holds no lock");
    const other = [...jobs.values()].find(
      (held) => held.spec_id === spec_id && held.id !== job_id && isHeld(held),
    );
    must(other === undefined, "no job is held while another job has its state locked");
  }
}
