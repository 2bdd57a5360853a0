/** What a code host shows of jobs and pull requests, with a stand-in of Forgejo. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { commentText } from "../../../../control-plane/services/pull-requests/comment.ts";
import { postChanges } from "../../../../control-plane/services/pull-requests/posting.ts";
import { followDefaults } from "../../../../protocol/follow.ts";
import type { JobStatus } from "../../../../protocol/jobs.ts";
import { startForgejo } from "../../../helpers/hosts/forgejo.ts";
import { newPull } from "../../../helpers/hosts/stand-in.ts";
import { callsOf, type Calls } from "../../../helpers/plane/calls.ts";
import { clientHeaders, readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  addJob,
  addOwner,
  addPullRequest,
  addRows,
  addSpec,
  type Owner,
} from "../../../helpers/plane/rows.ts";

let host: Awaited<ReturnType<typeof startForgejo>>;
beforeAll(async () => {
  host = await startForgejo({ full: ["write:repository", "write:issue"] });
});
afterAll(() => host[Symbol.asyncDispose]());

const { plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

let heads = 0;

/** A repository with an open pull request, which a connection of a new user knows. */
async function begin(
  change: Parameters<typeof addPullRequest>[1] extends infer T ? Partial<T> : never = {},
) {
  const { store } = plane.context;
  const owner = await addOwner(store);
  const client = callsOf(plane, await clientHeaders(plane, owner));
  const connection = await client.call("createConnection", {
    body: { name: "git", kind: "forgejo", base_url: host.url, credential: "full" },
  });
  const commit = String((heads += 1)).padStart(40, "a");
  const repository = host.addRepository(`ada/infra-${heads}`);
  repository.branches.set("main", "b".repeat(40));
  const told = { title: "a change", author: "bob", head: "topic", sha: commit };
  repository.pulls.set(1, newPull(1, { ...told, files: ["main.tf"] }));
  const pull = await addPullRequest(store, {
    owner_id: owner.id,
    connection_id: connection.id,
    repository_id: String(repository.id),
    repository: repository.full_name,
    head_commit: commit,
    planned_commit: commit,
    post_at: null,
    ...change,
  });
  return { client, owner, connection, repository, commit, pull };
}
type Begun = Awaited<ReturnType<typeof begin>>;

const change = { repository: "ada/infra", branch: "main", pull_request: null, url: "http://host/" };

/** Adds a plan of the pull request's head. */
async function addPlan(
  { owner, connection, pull, commit }: Begun,
  name: string,
  comment = "changes",
) {
  const { store } = plane.context;
  const spec = await addSpec(store, owner);
  await setRows(plane, "specs", { name }, { id: spec });
  await addRows(store, "follows", {
    spec_id: spec,
    connection_id: connection.id,
    repository_id: pull.repository_id,
    repository: pull.repository,
    branch: "main",
    settings: JSON.stringify({ ...followDefaults, webhook_problem: null, comment }),
    seen_commit: null,
    look_at: 1,
    updated_at: 1,
  });
  const job = await addJob(store, owner, { spec_id: spec });
  await addRows(store, "job_changes", {
    job_id: job.id,
    connection_id: connection.id,
    pull_request_id: pull.id,
    spec_id: spec,
    commit_id: commit,
    change: JSON.stringify({ ...change, connection_id: connection.id, commit }),
    withheld: '["db_password"]',
    settings_hash: "",
    posted_status: null,
    post_error: null,
    post_at: null,
  });
  return { job: job.id, spec };
}

const counts = { create: 3, update: 1, replace: 0, delete: 0, forget: 0, move: 0, import: 0 };
const summary = {
  counts,
  changes: [
    {
      address: "aws_instance.web",
      action: "update" as const,
      attributes: [{ path: "tags.Name", before: "a```b", after: "c|d @ada" }],
    },
  ],
  changes_omitted: 0,
  drift: [],
  drift_omitted: 0,
  outputs: [],
  outputs_omitted: 0,
  checks: [],
  applyable: true,
  complete: true,
};

/** Ends a job with or without a plan. */
async function end(
  job: string,
  status: JobStatus,
  error: string | null = null,
  plan: object = summary,
) {
  await setRows(
    plane,
    "jobs",
    { status, error_message: error, ended_at: 2, released_at: 2 },
    { id: job },
  );
  if (status === "SUCCESS")
    await addRows(plane.context.store, "plan_summaries", {
      job_id: job,
      plan_summary: JSON.stringify(plan),
    });
}

/** Makes everything due and posts it, on several servers if so many are named. Also waits for the rounds of the server itself, which hold a row for minutes. */
async function post({ pull }: Begun, servers = 1): Promise<void> {
  const { context } = plane;
  await setRows(plane, "job_changes", { post_at: 0 }, { pull_request_id: pull.id });
  await setRows(plane, "pull_requests", { post_at: 0 }, { id: pull.id });
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: servers }, () => postChanges(context, signal)));
  const isDue = ({ post_at }: { readonly post_at: number | null }) =>
    post_at !== null && (post_at <= context.now() || post_at > context.now() + 61_000);
  await expect
    .poll(async () =>
      [await readRows(plane, "job_changes"), await readRows(plane, "pull_requests")]
        .flat()
        .filter(isDue),
    )
    .toEqual([]);
}

const shown = ({ repository, commit }: Begun) =>
  Object.fromEntries(
    [...repository.statuses].map(([key, { state, description }]) => [
      key.replace(`${commit} `, ""),
      `${state}: ${description}`,
    ]),
  );
const callsTo = ({ repository }: Begun, method: string) =>
  host.requests.filter((one) => one.startsWith(method) && one.includes(repository.full_name))
    .length;

test("a status for each plan, their aggregate, and one comment that is edited in place", async () => {
  const begun = await begin();
  const network = await addPlan(begun, "network");
  const shop = await addPlan(begun, "shop", "off");
  await post(begun);
  expect(shown(begun)).toEqual({
    windlass: "pending: 0 of 2 plans done",
    "windlass/network": "pending: waits for a runner",
    "windlass/shop": "pending: waits for a runner",
  });
  expect(begun.repository.comments).toEqual([]);
  await end(network.job, "SUCCESS");
  await setRows(plane, "jobs", { failed_checks: 2 }, { id: network.job });
  await end(shop.job, "FAILED", "no credentials\nat all");
  await post(begun);
  expect(shown(begun)).toEqual({
    windlass: "failure: 1 of 2 plans failed: shop",
    "windlass/network": "success: +3 ~1, 2 checks failed",
    "windlass/shop": "failure: no credentials",
  });
  const [comment] = begun.repository.comments;
  expect(comment?.body).toContain("| `network` | `+3 ~1, 2 checks failed` |");
  expect(comment?.body).toContain("Not given to this plan: db_password");
  expect(comment?.body).not.toContain("shop");
  // The same again is not sent.
  const sent = callsTo(begun, "POST");
  await end(shop.job, "FAILED", "no credentials\nat all");
  await post(begun);
  expect(callsTo(begun, "POST")).toBe(sent);
  // A retry succeeds, and the comment is edited.
  await setRows(plane, "job_changes", { withheld: "[]" }, { job_id: shop.job });
  await setRows(plane, "follows", { settings: '{"comment":"always"}' }, { spec_id: shop.spec });
  await end(shop.job, "CANCELLED");
  await post(begun);
  expect(begun.repository.comments).toHaveLength(1);
  expect(begun.repository.comments[0]?.body).toContain("| `shop` | `cancelled` |");
});

test("a rule for approvals is named, and an ended job is not looked at again", async () => {
  const begun = await begin();
  const { job, spec } = await addPlan(begun, "network");
  await setRows(plane, "specs", { approval_when: "always", approval_count: 2 }, { id: spec });
  await end(job, "SUCCESS");
  await post(begun);
  expect(shown(begun)).toEqual({
    windlass: "success: +3 ~1, needs 2 approvals",
    "windlass/network": "success: +3 ~1, needs 2 approvals",
  });
  expect((await readRow(plane, "job_changes", { job_id: job })).post_at).toBeNull();
});

test("votes, a base that moved and a changed rule are said, and what became of it after the merge", async () => {
  const begun = await begin();
  const { client, pull } = begun;
  const { job, spec } = await addPlan(begun, "network");
  await setRows(plane, "job_changes", { withheld: "[]" }, { job_id: job });
  await end(job, "SUCCESS");
  await setRows(plane, "jobs", { started_at: 2 }, { id: job });
  await post(begun);
  expect(shown(begun)["windlass/network"]).toBe("success: +3 ~1");
  // Both are to be posted again.
  const due = async () => [
    (await readRow(plane, "job_changes", { job_id: job })).post_at,
    (await readRow(plane, "pull_requests", { id: pull.id })).post_at,
  ];
  const before = await due();
  const approval = { when: "always", by_author: true } as const;
  await client.call("updateConfiguration", { params: { name: spec }, body: { approval } });
  expect((await due()).map((at, index) => at !== before[index])).toEqual([true, true]);
  await post(begun);
  expect(shown(begun)["windlass/network"]).toBe("success: +3 ~1, needs 1 approval");
  await client.call("decideJob", { params: { id: job }, body: { decision: "approve" } });
  await post(begun);
  expect(shown(begun)["windlass/network"]).toBe("success: +3 ~1, approved");
  // Another commit is deployed.
  const base = "c".repeat(40);
  const pushed = {
    connection_id: begun.connection.id,
    spec_id: spec,
    change: "{}",
    withheld: "[]",
  };
  const deployed = await addJob(plane.context.store, begun.owner, {
    spec_id: spec,
    job_type: "DEPLOY",
    status: "SUCCESS",
    ended_at: 3,
  });
  await addRows(plane.context.store, "job_changes", {
    ...pushed,
    job_id: deployed.id,
    commit_id: base,
    settings_hash: "",
  });
  await post(begun);
  expect(shown(begun)["windlass"]).toBe(
    `success: +3 ~1, approved, planned before ${base.slice(0, 12)} was deployed`,
  );
  // The merge plans something else.
  const merge = "d".repeat(40);
  begun.repository.branches.set("main", merge);
  const merged = await addJob(plane.context.store, begun.owner, { spec_id: spec });
  await addRows(plane.context.store, "job_changes", {
    ...pushed,
    job_id: merged.id,
    merged_request_id: pull.id,
    commit_id: merge,
    settings_hash: "",
  });
  const changes = [{ address: "aws_instance.web", action: "delete" as const }];
  await end(merged.id, "SUCCESS", null, { ...summary, changes });
  await setRows(plane, "job_changes", { post_at: 0 }, { job_id: merged.id });
  await setRows(plane, "pull_requests", { state: "merged" }, { id: pull.id });
  await post(begun);
  expect(begun.repository.statuses.get(`${merge} windlass/network`)).toMatchObject({
    state: "success",
    description: "+3 ~1, differs from the reviewed plan",
  });
  const [comment, ...more] = begun.repository.comments;
  expect(more).toEqual([]);
  expect(comment?.body).toContain(
    `| \`network\` | \`merged as ${merge.slice(0, 12)}: +3 ~1, differs from the reviewed plan\` |`,
  );
  expect(comment?.body).toContain("aws_instance.web: destroyed, reviewed as changed");
  expect((await readRow(plane, "pull_requests", { id: pull.id })).post_at).toBeNull();
});

test("what a crash left behind is posted, and a comment that is there is found again", async () => {
  const begun = await begin();
  const { job } = await addPlan(begun, "network");
  await end(job, "SUCCESS");
  await post(begun);
  // The server was killed between the host's answer and its own commit.
  await setRows(
    plane,
    "pull_requests",
    {
      comment_id: null,
      posted_comment: null,
      posted_status: null,
    },
    { id: begun.pull.id },
  );
  await post(begun);
  expect(begun.repository.comments).toHaveLength(1);
  // A person deletes the comment; what changes next is posted anew.
  begun.repository.comments.length = 0;
  await setRows(plane, "job_changes", { withheld: "[]" }, { job_id: job });
  await post(begun);
  expect(begun.repository.comments).toHaveLength(1);
});

test("two servers post once", async () => {
  const begun = await begin();
  const { job } = await addPlan(begun, "network");
  await end(job, "SUCCESS");
  await post(begun, 3);
  expect(begun.repository.comments).toHaveLength(1);
  expect(callsTo(begun, "POST")).toBe(3);
});

test("what the host refuses is shown, and tried again", async () => {
  const begun = await begin();
  const { job } = await addPlan(begun, "network");
  await end(job, "SUCCESS");
  host.fault.answer = { status: 502, text: "<html>bad gateway</html>" };
  await post(begun);
  host.fault.answer = undefined!;
  delete host.fault.answer;
  const row = await readRow(plane, "job_changes", { job_id: job });
  expect(row.post_error).toMatch(/502/);
  expect(row.post_at).toBeGreaterThan(plane.context.now());
  await end(job, "CANCELLED");
  await post(begun);
  expect((await readRow(plane, "job_changes", { job_id: job })).post_error).toBeNull();
  expect(shown(begun)["windlass/network"]).toBe("failure: cancelled");
});

test("why a pull request starts nothing is its aggregate status", async () => {
  const draft = await begin({ skipped: "a draft: it is planned when it is ready" });
  const fork = await begin({ is_fork: 1, planned_commit: null });
  const none = await begin();
  const unplanned = await begin({ planned_commit: null });
  for (const one of [draft, fork, none, unplanned]) await post(one);
  expect([draft, fork, none, unplanned].map((one) => shown(one)["windlass"])).toEqual([
    "success: a draft: it is planned when it is ready",
    "pending: a fork: a person must let this commit be planned",
    "success: touches no configuration",
    "pending: will be planned",
  ]);
});

test("lists pull requests with their plans, and lets a fork's commit be planned", async () => {
  const begun = await begin({ is_fork: 1 });
  const { client, pull, commit } = begun;
  const { job, spec } = await addPlan(begun, "network");
  await end(job, "SUCCESS");
  const { pull_requests } = await client.call("listPullRequests", {
    query: { configuration: "network", state: "open", repository: pull.repository },
  });
  expect(pull_requests).toEqual([
    expect.objectContaining({
      id: pull.id,
      head: { branch: "topic", commit },
      needs_approval: true,
      jobs: [
        {
          configuration: "network",
          job_id: job,
          status: "SUCCESS",
          changes: counts,
          failed_checks: null,
          digest: null,
        },
      ],
    }),
  ]);
  await setRows(plane, "follows", { branch: "other" }, { spec_id: spec });
  const other = await client.call("listPullRequests", { query: { configuration: "network" } });
  expect(other.pull_requests).toEqual([]);
  const params = { id: pull.id };
  const stale = { commit: "b".repeat(40) };
  expect(await client.refusal("approvePullRequest", { params, body: stale })).toBe(
    "409 changed_meanwhile",
  );
  const approved = await client.call("approvePullRequest", { params, body: { commit } });
  expect(approved.needs_approval).toBe(false);
  const anotherOwner: Owner = await addOwner(plane.context.store);
  const others: Calls = callsOf(plane, await clientHeaders(plane, anotherOwner));
  expect(await others.refusal("approvePullRequest", { params, body: { commit } })).toBe(
    "404 not_found",
  );
  expect((await others.call("listPullRequests")).pull_requests).toEqual([]);
});

test("nothing of a configuration is markup in a comment, and it fits the host", async () => {
  const plan = {
    configuration: "a`b|c</summary>@ada",
    said: "+3 ~1",
    url: "https://windlass.example.com/jobs/1",
    withheld: [],
    read: async () => ({ error: null, summary }),
  };
  const form = { marker: "<!-- windlass: w -->", hasHtml: true, limit: 60_000 };
  const text = await commentText([plan], "a".repeat(40), form);
  expect(text).toContain("| ``a`b\\|c</summary>@ada`` |");
  expect(text).not.toContain("<code>a`b");
  // The value has three backticks, so the fence has four.
  expect(text).toContain("````diff\n! aws_instance.web (update)\n");
  const small = { ...form, limit: 2000 };
  const many = Array.from({ length: 40 }, (_, n) => ({ ...plan, configuration: `number-${n}` }));
  for (const limited of [small, { ...small, hasHtml: false }]) {
    const cut = await commentText(many, "a".repeat(40), limited);
    expect(cut.length).toBeLessThanOrEqual(2000);
    expect(cut).toContain("more configurations are in Windlass");
  }
});
