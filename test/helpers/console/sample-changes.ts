/** Connections to code hosts, a followed configuration and its pull requests, for sample pages. */
import { createHash } from "node:crypto";
import { followDefaults, type Change } from "../../../protocol/follow.ts";
import type { JobRow } from "../../../control-plane/domain/job.ts";
import { setRows, type Plane } from "../plane/plane.ts";
import { emptySummary } from "../plane/plan-summaries.ts";
import { addJob, addPullRequest, addRows } from "../plane/rows.ts";
import type { SampleUser } from "../plane/sample-data.ts";

/** A commit that looks like one. */
const commitOf = (text: string): string => createHash("sha1").update(text).digest("hex");

const repository = "platform/infrastructure";
const minute = 60_000;

/** Adds them and returns name and path of each page. `spec`: what follows, called `name`. */
export async function addSampleChanges(
  plane: Plane,
  { client, owner }: SampleUser,
  followed: Readonly<Record<"spec" | "name", string>>,
): Promise<Record<string, string>> {
  const { store } = plane.context;
  const now = Date.now();
  const connect = async (name: string, kind: "github" | "forgejo", change: object) => {
    const body = { name, kind, credential: "token", base_url: `https://${name}.example.com` };
    const { id } = await client.call("createConnection", { body });
    await setRows(plane, "connections", change, { id });
    return id;
  };
  const works = { last_poll_at: now - minute, last_event_at: now - 4 * minute };
  const connection = await connect("github", "github", { account: "acme-deploy-bot", ...works });
  const broken = await connect("gitea", "forgejo", {
    last_poll_at: now - 3 * minute,
    error: "GET /api/v1/user answered 401: the token was revoked",
    error_since: now - 134 * minute,
  });
  const [base, head] = ["base", "head"].map(commitOf) as [string, string];
  const { trigger_paths: _, ...defaults } = followDefaults;
  await addRows(store, "follows", {
    spec_id: followed.spec,
    connection_id: connection,
    repository_id: "1",
    repository,
    branch: "main",
    settings: JSON.stringify({ ...defaults, trigger_paths: ["modules/**"], webhook_problem: null }),
    seen_commit: base,
    look_at: now + 1e12,
    updated_at: now - 90 * minute,
  });

  const open = (number: number, title: string, change: object) =>
    addPullRequest(store, {
      owner_id: owner.id,
      connection_id: connection,
      repository,
      number,
      title,
      author: "grace",
      url: `https://github.example.com/${repository}/pull/${number}`,
      head_commit: commitOf(title),
      base_commit: base,
      post_at: null,
      updated_at: now - number * minute,
      ...change,
    });
  await open(38, "Raise the limit of connections", { state: "merged", head_branch: "limits" });
  await open(41, "Use the new region", { is_fork: 1, author: "mallory", head_branch: "patch-1" });
  await open(42, "Write the runbook", { head_branch: "docs", skipped: "it is a draft" });
  const { id: pull, ...pulled } = await open(43, "Keep the logs of payments for a year", {
    head_branch: "logs",
    head_commit: head,
    updated_at: now - 4 * minute,
  });

  const change: Change = {
    connection_id: connection,
    repository,
    branch: "main",
    commit: head,
    base_commit: base,
    pull_request: { ...pulled, is_fork: false },
    url: pulled.url,
  };
  const plan = async (
    { spec, name }: typeof followed,
    row: Partial<JobRow>,
    more: { readonly withheld?: string[]; readonly post_error?: string } = {},
  ): Promise<string> => {
    const { id: job_id } = await addJob(store, owner, {
      spec_id: spec,
      created_by: "github (connection)",
      created_at: now - 4 * minute,
      ...row,
    });
    await addRows(store, "job_changes", {
      job_id,
      connection_id: connection,
      pull_request_id: pull,
      spec_id: spec,
      commit_id: head,
      change: JSON.stringify(change),
      withheld: JSON.stringify(more.withheld ?? []),
      settings_hash: "",
      posted_status: "posted",
      post_error: more.post_error ?? null,
      post_at: null,
    });
    await setRows(
      plane,
      "job_snapshots",
      { config_snapshot: JSON.stringify({ name }) },
      { job_id },
    );
    return job_id;
  };
  const ended = {
    started_at: now - 4 * minute + 2000,
    ended_at: now - 3 * minute,
    released_at: now - 3 * minute,
  };
  const planned = await plan(
    followed,
    { ...ended, status: "SUCCESS" },
    {
      withheld: ["db_password"],
      post_error: "the host answered 403: the token lacks statuses: write",
    },
  );
  const counts = { ...emptySummary.counts, create: 3, update: 1, delete: 2 };
  await addRows(store, "plan_summaries", {
    job_id: planned,
    plan_summary: JSON.stringify({ ...emptySummary, counts }),
  });
  return {
    connection: `/connections/${connection}`,
    "connection-broken": `/connections/${broken}`,
    "pull-request": `/pull-requests/${pull}`,
    "job-of-pull-request": `/jobs/${planned}`,
  };
}
