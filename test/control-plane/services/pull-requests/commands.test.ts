/** Commands in comments on pull requests: who may give them, and what they start. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commentIn } from "../../../../control-plane/code-hosts/comments.ts";
import type { CodeHost } from "../../../../control-plane/code-hosts/code-host.ts";
import type { Kind } from "../../../../control-plane/code-hosts/kinds.ts";
import { commandIn } from "../../../../control-plane/services/connections/comment-commands.ts";
import { runCommands } from "../../../../control-plane/services/pull-requests/commands.ts";
import { findFollowers } from "../../../../control-plane/store/connections/polls.ts";
import { follow } from "../../../helpers/hosts/followed.ts";
import { startForgejo } from "../../../helpers/hosts/forgejo.ts";
import type { Calls } from "../../../helpers/plane/calls.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { readRows, setRows } from "../../../helpers/plane/plane.ts";
import { addRows, type Owner } from "../../../helpers/plane/rows.ts";

let host: Awaited<ReturnType<typeof startForgejo>>;
beforeAll(async () => {
  host = await startForgejo({ full: ["write:repository", "write:issue"] });
});
afterAll(() => host[Symbol.asyncDispose]());

const { it, plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

/** A planned pull request, and a way to let a person of the host comment on it. */
async function planned(client: Calls, owner: Owner, rules: object = { commands: true }) {
  const begun = await follow(plane, host, client, owner);
  const { connection, repository } = begun;
  const id = await begun.configure("network", {}, rules);
  const pull = begun.open(1, ["network/a.tf"]);
  await begun.look();
  const [plan] = await begun.jobs(id);
  await begun.planned(plan!.id);
  const { store } = plane.context;
  const replies: string[] = [];
  const fake: Partial<CodeHost> = {
    mayWrite: (_, account) => Promise.resolve(account === "grace"),
    changedFiles: () => Promise.resolve({ paths: pull.files, isCut: false }),
    writeComment: (_repository, _number, body) => Promise.resolve(String(replies.push(body))),
  };
  let deliveries = 0;
  return {
    ...begun,
    id,
    pull,
    plan: plan!.id,
    replies,
    /** Stores the command as the event of a connection of that kind, and looks at it. */
    say: async (text: string, { by = "grace", servers = 1, created_at = Date.now() } = {}) => {
      const body = { id: "1", pull: 1, event: "created", body: text, created_at } as const;
      const author = { id: "4711", name: by };
      const command = commandIn({ ...body, author }, String(repository.id), created_at);
      await addRows(store, "connection_events", {
        connection_id: connection,
        delivery_id: String((deliveries += 1)),
        received_at: 1,
        command: JSON.stringify(command),
      });
      const stored = { ...(await begun.stored()), kind: "github" } as const;
      const connected = { ...stored, base_url: "https://github.com" };
      const place = {
        context: plane.context,
        connection: connected,
        host: fake as CodeHost,
        repository: { ...repository, id: String(repository.id) } as never,
        problems: [] as string[],
      };
      const followers = await store.read.all(findFollowers, { connection });
      await Promise.all(Array.from({ length: servers }, () => runCommands(place, followers)));
      expect(place.problems).toEqual([]);
      const events = await readRows(plane, "connection_events", { connection_id: connection });
      expect(events.every((one) => one.command === null)).toBe(true);
    },
    /** Connects the person's account at the host to a user. */
    connectAccount: (user: string) =>
      addRows(store, "accounts", {
        provider: "github",
        host: "github.com",
        subject: "4711",
        user_id: user,
        email: "grace@example.com",
        verified: "[]",
        access_token: "",
        refresh_token: null,
        token_expires_at: null,
        created_at: 1,
        signed_in_at: 1,
      }),
    types: async () => (await begun.jobs(id)).map((job) => [job.job_type, job.status]),
  };
}

describe("windlass plan", () => {
  it("plans again, once, for those who may write to the repository", async ({ client, owner }) => {
    const { say, types, replies, pull } = await planned(client, owner);
    await say("windlass plan", { by: "mallory" });
    expect(await types()).toEqual([["PLAN", "SUCCESS"]]);
    await say(" windlass plan\n", { servers: 3 });
    const twice = [
      ["PLAN", "SUCCESS"],
      ["PLAN", "QUEUED"],
    ];
    expect(await types()).toEqual(twice);
    // One that waits is enough.
    await say("windlass plan");
    await say("windlass plan", { created_at: Date.now() - 3_600_000 });
    expect(await types()).toEqual(twice);
    expect(replies).toEqual([]);
    pull.files.splice(0, 1, "README.md");
    await say("windlass plan");
    expect(replies).toEqual([
      "`windlass plan` was refused: the files belong to no configuration that takes commands",
    ]);
  });

  it("does nothing unless the configuration takes commands", async ({ client, owner }) => {
    const { say, types, replies } = await planned(client, owner, {});
    await say("windlass plan");
    expect([await types(), replies]).toEqual([[["PLAN", "SUCCESS"]], []]);
  });

  it("lets nothing of a fork be planned that no person has approved", async ({ client, owner }) => {
    const rules = { commands: true, forks: "approved" };
    const { say, types, replies, connection } = await planned(client, owner, rules);
    await setRows(plane, "pull_requests", { is_fork: 1 }, { connection_id: connection });
    await say("windlass plan");
    expect(await types()).toEqual([["PLAN", "SUCCESS"]]);
    expect(replies[0]).toMatch(/a person must let this commit of a fork be planned first/);
  });
});

describe("windlass deploy", () => {
  it("needs the planned commit, and the connected account of a member who may", async ({
    client,
    otherOwner,
    owner,
  }) => {
    const { say, types, replies, connectAccount, pull, jobs, id, plan } = await planned(
      client,
      owner,
    );
    const text = `windlass deploy ${pull.sha.slice(0, 12)}`;
    const isRefused = async (reason: RegExp) => {
      expect(replies.pop()).toMatch(reason);
      expect(await types()).toEqual([["PLAN", "SUCCESS"]]);
    };
    await say("windlass deploy");
    await isRefused(/must name the newest commit/);
    await say(`windlass deploy ${"0".repeat(40)}`);
    await isRefused(/must name the newest commit/);
    await say(text);
    await isRefused(/belongs to no member/);
    await connectAccount(otherOwner.id);
    await say(text);
    await isRefused(/belongs to no member/);
    await setRows(plane, "accounts", { user_id: owner.id }, { subject: "4711" });
    await setRows(plane, "users", { blocked_at: 1 }, { id: owner.id });
    await say(text);
    await isRefused(/belongs to no member/);
    await setRows(plane, "users", { blocked_at: null }, { id: owner.id });
    const merged = { base_commit: "b".repeat(40), head_commit: pull.sha };
    const reported = (more: object) =>
      setRows(
        plane,
        "jobs",
        { execution_metadata: JSON.stringify({ merged: { ...merged, ...more } }) },
        { id: plan },
      );
    await reported({});
    await say(text);
    await isRefused(/main has commits that this branch lacks/);
    await reported({ is_current: true });
    await say(text, { servers: 3 });
    await say(text);
    expect(await types()).toEqual([
      ["PLAN", "SUCCESS"],
      ["DEPLOY", "QUEUED"],
    ]);
    const deployed = (await jobs(id)).at(-1)!;
    expect(deployed).toMatchObject({ plan_job_id: plan, change: { commit: pull.sha } });
    expect(deployed.created_by).toMatch(/\(comment\)$/);
    const { audit_entries } = await client.call("listAuditEntries", {
      query: { target_id: deployed.id },
    });
    expect(audit_entries[0]?.actor).toMatchObject({
      kind: "connection",
      name: deployed.created_by,
    });
  });
});

const comment = { id: 5, body: "windlass plan", created_at: "2026-11-29T15:00:00Z" };
const user = { id: 7, login: "grace" };
const said = { author: { id: "7", name: "grace" }, id: "5", pull: 3, event: "created" };
const note = {
  object_kind: "note",
  user: { id: 7, username: "grace" },
  merge_request: { iid: 3 },
  object_attributes: {
    id: 5,
    note: "windlass plan",
    created_at: "2026-11-29 15:00:00 UTC",
    author_id: 7,
  },
};
const bitbucket = {
  actor: { uuid: "{7}" },
  pullrequest: { id: 3 },
  comment: {
    id: 5,
    content: { raw: "windlass plan" },
    created_on: "2026-11-29T15:00:00+00:00",
    user: { uuid: "{7}" },
  },
};
const github = {
  action: "created",
  issue: { number: 3, pull_request: {} },
  comment: { ...comment, user },
};

test.each<[string, Kind, object, object | undefined]>([
  ["of a pull request", "github", github, said],
  [
    "of an outsider",
    "github",
    { ...github, comment: { ...github.comment, author_association: "CONTRIBUTOR" } },
    { ...said, body: "" },
  ],
  ["of an issue", "github", { ...github, issue: { number: 3 } }, undefined],
  ["that was edited", "github", { ...github, action: "edited" }, undefined],
  ["that was deleted", "github_app", { ...github, action: "deleted" }, { event: "deleted" }],
  ["of Gitea", "forgejo", { ...github, issue: { number: 3 }, is_pull: true }, said],
  ["of an issue of Gitea", "forgejo", { ...github, is_pull: false }, undefined],
  ["of a merge request", "gitlab", note, said],
  [
    "that another person edited",
    "gitlab",
    { ...note, user: { id: 8, username: "mallory" } },
    undefined,
  ],
  ["of Bitbucket", "bitbucket", bitbucket, { ...said, author: { id: "{7}", name: "{7}" } }],
  ["for which another acts", "bitbucket", { ...bitbucket, actor: { uuid: "{8}" } }, undefined],
  ["in an event about something else", "github", { action: "opened" }, undefined],
])("a comment %s (%s)", (_, kind, payload, expected) => {
  const found = commentIn[kind](payload);
  if (expected === undefined) expect(found).toBeUndefined();
  else {
    expect(found).toMatchObject({ body: "windlass plan", ...expected });
    expect(found).toMatchObject({ created_at: Date.UTC(2026, 10, 29, 15) });
  }
});

test.each([
  ["windlass deploy 0123abc", { verb: "deploy", commit: "0123abc" }],
  ["> windlass plan", undefined],
  ["please windlass plan", undefined],
  ["windlass plan\nand more", undefined],
  ["windlass destroy", undefined],
  ["windlass deploy --force", undefined],
])("%j", (body, expected) => {
  const author = { id: "1", name: "grace" };
  const created = { id: "1", pull: 1, event: "created", author, body, created_at: 0 } as const;
  const found = commandIn(created, "9", 1);
  if (expected) expect(found).toMatchObject(expected);
  else expect(found).toBeUndefined();
  expect(commandIn({ ...created, created_at: Number.NaN }, "9", 1)).toBeUndefined();
});
