import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { pullRequestList } from "../../../../control-plane/console/pull-requests/pull-request-list.ts";
import type { PullRequest } from "../../../../protocol/pull-requests.ts";
import { attributes, texts, words } from "../../../helpers/console/forms.ts";
import { startForgejo } from "../../../helpers/hosts/forgejo.ts";
import { follow } from "../../../helpers/hosts/followed.ts";
import { addPerson, openTeam } from "../../../helpers/people/teams.ts";
import { readRow, setRows } from "../../../helpers/plane/plane.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane, it } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });
let host: Awaited<ReturnType<typeof startForgejo>>;
beforeAll(async () => {
  host = await startForgejo({ full: ["read:repository", "write:repository", "write:issue"] });
});
afterAll(() => host[Symbol.asyncDispose]());

describe("pull requests", () => {
  it("are listed with their plans, and found by state, repository and configuration", async () => {
    const user = await openSampleUser(plane);
    expect(words(await user.page("/pull-requests"))).toContain("No pull request yet");
    const { repository, configure, open, look, jobs, planned } = await follow(
      plane,
      host,
      user.client,
      user.owner,
    );
    const network = await configure("network");
    await look();
    const { sha } = open(7, ["network/main.tf"], { title: "Add a subnet" });
    open(8, ["docs/a.md"]);
    await look();
    const [job] = await jobs(network);
    await planned(job?.id ?? "", {
      ...emptySummary,
      counts: { ...emptySummary.counts, create: 1, delete: 2 },
    });

    const page = await user.page("/pull-requests");
    expect(texts(page, ".pulls .name")).toEqual(["Change 8", "Add a subnet"]);
    const [, item = ""] = texts(page, ".pulls > li");
    expect(item).toContain(`${repository.full_name}#7 · open · grace`);
    expect(item).toContain(`change-7 into main, commit ${sha.slice(0, 10)}`);
    expect(item).toContain("network Succeeded +1 −2");
    expect(attributes(page, ".pulls li li a")).toEqual([`/jobs/${job?.id}`]);
    const [id = ""] = attributes(page, ".pulls > li", "id").slice(-1);
    expect(texts(await user.page(`/pull-requests/${id}`), ".name")).toEqual(["Add a subnet"]);

    for (const [query, count] of [
      ["state=open", 2],
      ["state=merged", 0],
      [`repository=${repository.full_name}`, 2],
      ["repository=ada/other", 0],
      ["configuration=network", 2],
      ["configuration=none", 0],
    ] as const) {
      const found = await user.page(`/pull-requests?${query}`);
      expect([query, texts(found, ".pulls .name").length]).toEqual([query, count]);
    }

    const overview = await user.page(`/configurations/${network}`);
    expect(words(overview)).toContain(`Follows main ${repository.full_name}`);
    expect(texts(overview, "#pulls .name")).toEqual(["Change 8", "Add a subnet"]);
    expect(words(await user.page(`/jobs/${job?.id}`))).toMatch(
      new RegExp(
        `Add a subnet ${repository.full_name}#7 by grace: commit ${sha.slice(0, 10)} merged`,
      ),
    );
  });

  it("list ten plans each, those that failed first", () => {
    const jobs = Array.from({ length: 12 }, (_, index) => ({
      configuration: `network-${index}`,
      job_id: randomUUID(),
      status: index === 11 ? ("FAILED" as const) : ("SUCCESS" as const),
      changes: null,
      digest: null,
    }));
    const pull: PullRequest = {
      id: randomUUID(),
      connection_id: randomUUID(),
      repository: "ada/infra",
      number: 1,
      title: "a change",
      author: "grace",
      url: "https://git.example.com/ada/infra/pulls/1",
      state: "open",
      head: { branch: "topic", commit: "a".repeat(40) },
      base: { branch: "main", commit: null },
      is_fork: false,
      needs_approval: false,
      skipped: null,
      jobs,
      updated_at: new Date().toISOString(),
    };
    const shown = texts(pullRequestList([pull], pull.updated_at), "li li a");
    expect(shown).toHaveLength(11);
    expect([shown[0], shown.at(-1)]).toEqual(["network-11", "2 more plans"]);
  });

  it("of forks wait for a person, who approves one commit", async () => {
    const team = await openTeam(plane);
    const { slug, calls } = team;
    const zone = await calls.call("createZone", { body: { name: "zone" } });
    const owner = { id: (await readRow(plane, "teams", { slug })).id, zone: zone.id };
    const { configure, open, look, jobs } = await follow(plane, host, calls, owner);
    const network = await configure("network", {}, { forks: "approved" });
    await look();
    const { sha } = open(1, ["network/main.tf"], { isFork: true, author: "mallory" });
    await look();
    const { pull_requests } = await calls.call("listPullRequests");
    const path = `/pull-requests/${pull_requests[0]?.id}`;

    const viewer = await addPerson(plane, team, "viewer");
    const seen = await viewer.page(path);
    expect(words(seen)).toContain("Its plan runs code of mallory");
    expect(words(seen)).toContain("Needs the role deployer");
    expect((await viewer.post(`${path}/approve`, { commit: sha })).status).toBe(403);
    const deployer = await addPerson(plane, team, "deployer");
    const old = await deployer.post(`${path}/approve`, { commit: "a".repeat(40) });
    expect(old.status).toBe(409);
    expect(words(old)).toContain("look at that commit, then approve it");
    expect((await deployer.post(`${path}/approve`, { commit: sha })).headers["location"]).toBe(
      path,
    );
    expect(attributes(await deployer.page(path), "main form", "action")).toEqual([]);
    await look();
    expect(await jobs(network)).toMatchObject([{ status: "QUEUED" }]);
  });
});

describe("a job of a pull request", () => {
  it("names what was withheld from it, and why the host does not show it", async () => {
    const user = await openSampleUser(plane);
    const { configure, open, look, jobs, connection } = await follow(
      plane,
      host,
      user.client,
      user.owner,
    );
    const variables = { db_password: { value: "secret", sensitive: true } };
    const network = await configure("network", { variables });
    await look();
    open(1, ["network/main.tf"]);
    await look();
    const job_id = (await jobs(network))[0]?.id ?? "";
    const page = () => user.page(`/jobs/${job_id}`);
    expect(words(await page())).toContain('does not get the values of "db_password"');
    expect(words(await page())).toContain("The host does not show it yet.");
    await setRows(
      plane,
      "job_changes",
      { post_error: "403 from the host", post_at: null },
      { job_id },
    );
    expect(words(await page())).toContain("how this job stands: 403 from the host.");
    expect(attributes(await page(), ".notice a")).toContain(`/connections/${connection}`);
  });
});

describe("the form to follow a branch", () => {
  it("follows, changes, warns of what is withheld, and ends", async () => {
    const user = await openSampleUser(plane);
    const { repository, connection } = await follow(plane, host, user.client, user.owner);
    const { id } = await user.client.call("createConfiguration", {
      body: {
        name: "network",
        zone_id: user.owner.zone,
        source: { type: "git", url: `${host.url}/${repository.full_name}.git` },
        variables: { db_password: { value: "secret", sensitive: true } },
      },
    });
    const path = `/configurations/${id}/settings`;
    const followed = async () =>
      (await user.client.call("getConfiguration", { params: { name: id } })).follow;
    const before = await user.page(path);
    expect(texts(before, '[data-for="plain"]').join()).toContain("db_password");
    const fields = {
      connection_id: connection,
      branch: "",
      pull_requests: "plan",
      push: "deploy",
      comment: "always",
      forks: "off",
      values: "plain",
      trigger_paths: "modules/**\r\nshared/*.tf",
    };
    const none = await user.post(`${path}/follow`, { ...fields, branch: "none" });
    expect(none.status).toBe(400);
    expect(attributes(none, "[aria-invalid]", "name")).toEqual(["branch"]);
    expect((await user.post(`${path}/follow`, fields)).status).toBe(303);
    expect(await followed()).toMatchObject({
      branch: "main",
      push: "deploy",
      comment: "always",
      commands: false,
      trigger_paths: ["modules/**", "shared/*.tf"],
    });
    const page = await user.page(path);
    expect(words(page)).toContain(`It follows main of ${repository.full_name}`);
    expect(texts(page, "section > .notice").join()).toContain("db_password");
    const [seen = ""] = attributes(page, ".follow [name=seen]", "value");
    expect((await user.post(`${path}/follow`, { ...fields, seen, push: "off" })).status).toBe(303);
    // Another tab has not seen that.
    expect((await user.post(`${path}/follow`, { ...fields, seen })).status).toBe(409);
    expect((await user.post(`${path}/follow`, { end: "on" })).status).toBe(303);
    expect(await followed()).toBeNull();
  });
});
