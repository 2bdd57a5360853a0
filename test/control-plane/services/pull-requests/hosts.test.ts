/** A pull request at each kind of host, from its plan to the plan of its merge. */
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { Kind } from "../../../../control-plane/code-hosts/kinds.ts";
import type { CreateConnection } from "../../../../protocol/connections.ts";
import { appCredential, startHost } from "../../../helpers/hosts/every-kind.ts";
import { follow } from "../../../helpers/hosts/followed.ts";
import type { StandIn } from "../../../helpers/hosts/stand-in.ts";
import { readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const { it, plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

describe.each(Object.keys(startHost) as Kind[])("%s", (kind) => {
  let host: StandIn;
  beforeAll(async () => {
    host = await startHost[kind]();
  });
  afterAll(() => host[Symbol.asyncDispose]());
  const connect = (): Partial<CreateConnection> => ({
    kind,
    ...(kind === "bitbucket" ? { api_url: host.api } : { base_url: host.url }),
    ...(kind === "github_app" ? { app: appCredential } : { credential: "full" }),
  });

  it("plans, tells, and knows the merge of a pull request", async ({ client, owner }) => {
    const followed = await follow(plane, host, client, owner, connect());
    const { repository, connection, stored, look, configure, jobs, open, push, planned } = followed;
    const id = await configure("network");
    await look();
    const pull = open(7, ["network/main.tf"]);
    await look();
    const [plan] = await jobs(id);
    expect(plan?.change).toMatchObject({ commit: pull.sha, pull_request: { number: 7 } });
    // The server tells hosts beside the test, and holds a row for minutes while it does.
    const { context } = plane;
    const isOpen = ({ post_at }: { readonly post_at: number | null }) =>
      post_at !== null && (post_at <= context.now() || post_at > context.now() + 61_000);
    const settled = async () => {
      await expect
        .poll(async () =>
          [
            ...(await readRows(plane, "job_changes", { connection_id: connection })),
            ...(await readRows(plane, "pull_requests", { connection_id: connection })),
          ].filter(isOpen),
        )
        .toEqual([]);
    };
    await settled();
    await planned(plan!.id);
    for (const table of ["job_changes", "pull_requests"] as const)
      await setRows(plane, table, { post_at: 0 }, { connection_id: connection });
    await settled();
    const shown = [...repository.statuses].map(([name, { description }]) => [name, description]);
    expect(Object.fromEntries(shown)).toEqual({
      [`${pull.sha} windlass`]: "+1",
      [`${pull.sha} windlass/network`]: "+1",
    });
    expect(repository.comments.map(({ body }) => body)).toEqual([
      expect.stringContaining("| `network` | `+1` |"),
    ]);
    const commit = push(["network/main.tf"]);
    Object.assign(pull, { state: "closed", merge: commit });
    await look();
    expect((await jobs(id)).at(-1)?.change).toMatchObject({ commit, pull_request: { number: 7 } });
    expect((await stored()).error).toBeNull();
  });
});
