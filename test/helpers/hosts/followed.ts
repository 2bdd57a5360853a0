/** A configuration that follows a repository of the stand-in, and the looks of a server at it. */
import { expect } from "vitest";
import { pollConnections } from "../../../control-plane/services/pull-requests/poll.ts";
import type { CreateConnection } from "../../../protocol/connections.ts";
import type { WriteFollow } from "../../../protocol/follow.ts";
import { addRows, addArtifact, type Owner } from "../plane/rows.ts";
import type { Calls } from "../plane/calls.ts";
import { emptySummary } from "../plane/plan-summaries.ts";
import { readRow, setRows, type Plane } from "../plane/plane.ts";
import { newPull, type Pull, type StandIn } from "./stand-in.ts";

let count = 0;

/** A commit that no other has, also by its first 12 characters. */
const newCommit = (): string => (count += 1).toString(16).padStart(12, "c").padEnd(40, "0");

/** Adds a repository with a branch `main`, and a connection to it; `connect`: to another kind. */
export async function follow(
  plane: Plane,
  host: StandIn,
  client: Calls,
  owner: Owner,
  connect: Partial<CreateConnection> = { base_url: host.url, credential: "full" },
) {
  const full_name = `ada/followed-${(count += 1)}`;
  const repository = host.addRepository(full_name);
  repository.branches.set("main", newCommit());
  const { id } = await client.call("createConnection", {
    body: {
      name: `git-${count}`,
      kind: "forgejo",
      poll_seconds: 86_400,
      ...connect,
    },
  });
  const base = connect.kind === "bitbucket" ? "https://bitbucket.org" : host.url;
  // Its clock may be some milliseconds behind.
  const { store, now } = plane.context;
  /** Makes everything due. */
  const due = async () => {
    const free = { poll_at: 0, busy_until: 0, quiet_until: 0 };
    await setRows(plane, "follows", { look_at: 0 }, { connection_id: id });
    await setRows(plane, "connections", free, { id });
  };
  const stored = () => readRow(plane, "connections", { id });
  return {
    repository,
    connection: id,
    stored,
    due,
    look: async () => {
      const at = now();
      await due();
      await pollConnections(plane.context, new AbortController().signal);
      await expect
        .poll(async () => {
          const { last_poll_at, busy_until, poll_at } = await stored();
          return (last_poll_at ?? 0) >= at && busy_until <= now() && poll_at > now();
        })
        .toBe(true);
    },
    configure: async (name: string, more: object = {}, rules: Partial<WriteFollow> = {}) =>
      (
        await client.call("createConfiguration", {
          body: {
            name,
            zone_id: owner.zone,
            source: { type: "git", url: `${base}/${full_name}.git`, path: name },
            follow: { connection_id: id, ...rules },
            ...more,
          },
        })
      ).id,
    jobs: async (configuration: string) =>
      (await client.call("listJobs", { query: { configuration } })).jobs.toReversed(),
    /** Opens a pull request that changes these files. */
    open: (number: number, files: string[], change: Partial<Pull> = {}): Pull => {
      const pull = newPull(number, { sha: newCommit(), files, ...change });
      repository.pulls.set(number, pull);
      return pull;
    },
    /** Moves `main` by a commit that changes these files. */
    push: (files: string[]): string => {
      const [from, to] = [repository.branches.get("main")!, newCommit()];
      repository.compared.set(`${from}...${to}`, files);
      repository.branches.set("main", to);
      return to;
    },
    /** Lets a PLAN end with changes, as its runner would report it. */
    planned: async (job: string, summary: object = {}) => {
      await setRows(
        plane,
        "jobs",
        { status: "SUCCESS", worker_id: null, started_at: 1, ended_at: Date.now(), released_at: 1 },
        { id: job },
      );
      const plan_summary = JSON.stringify({
        ...emptySummary,
        counts: { ...emptySummary.counts, create: 1 },
        ...summary,
      });
      await addRows(store, "plan_summaries", { job_id: job, plan_summary });
      await addArtifact(store, job);
    },
  };
}
