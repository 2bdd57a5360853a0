/** What Windlass asks of each kind of host, with stand-ins that refuse what the hosts refuse. */
import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CodeHost, RepositoryKey } from "../../../control-plane/code-hosts/code-host.ts";
import { HostError } from "../../../control-plane/code-hosts/host-calls.ts";
import { eventKinds, openHost, type Kind } from "../../../control-plane/code-hosts/kinds.ts";
import { Outbound } from "../../../control-plane/outbound/outbound.ts";
import { appCredential as app, startHost, testApp } from "../../helpers/hosts/every-kind.ts";
import { startBitbucket } from "../../helpers/hosts/bitbucket.ts";
import { startGithub } from "../../helpers/hosts/github.ts";
import { newPull, type Pull, type Repository, type StandIn } from "../../helpers/hosts/stand-in.ts";

const commit = (digit: string): string => digit.repeat(40);

describe.each(Object.keys(startHost) as Kind[])("%s", (kind) => {
  let standIn: StandIn;
  let repository: Repository;
  let key: RepositoryKey;
  let host: CodeHost;
  const outbound = new Outbound(["127.0.0.0/8"]);
  const open = (credential: string, from = outbound) =>
    openHost(from, { kind, api: standIn.api }, { credential, app }, Date.now);
  const pull = (number: number, change: Partial<Pull> = {}) =>
    repository.pulls.set(
      number,
      newPull(number, { head: "feature/a b", sha: commit("a"), files: ["a.tf"], ...change }),
    );

  beforeAll(async () => {
    standIn = await startHost[kind]();
    repository = standIn.addRepository("ada/infra");
    standIn.addRepository("ada/infra-fork").branches.set("main", commit("a"));
    repository.branches.set("main", commit("b")).set("feature/a b", commit("a"));
    ({ host } = open("full"));
    key = await host.repository({ full_name: "ada/infra" });
  });
  afterAll(async () => {
    await outbound.close();
    await standIn[Symbol.asyncDispose]();
  });

  it("finds a repository by its name, and by its id after it was renamed", async () => {
    const { id } = key;
    expect(key).toEqual({
      id,
      full_name: "ada/infra",
      clone_url: `${standIn.url}/ada/infra.git`,
      default_branch: "main",
      private: true,
    });
    repository.full_name = "ada/renamed";
    expect(await host.repository({ id })).toMatchObject({ id, full_name: "ada/renamed" });
    repository.full_name = "ada/infra";
    await expect(host.repository({ full_name: "ada/none" })).rejects.toMatchObject({ status: 404 });
  });

  it("lists what it reaches, page by page", async () => {
    const names: string[] = [];
    for (let page: number | null = 1; page !== null;) {
      const { items, next } = await host.repositories(page, 1);
      names.push(...items.map(({ full_name }) => full_name));
      page = next;
    }
    expect(names).toEqual(["ada/infra", "ada/infra-fork"]);
  });

  it("finds the commit of a branch", async () => {
    expect(await host.head(key, "feature/a b")).toBe(commit("a"));
    expect(await host.head(key, "none")).toBeNull();
  });

  it("lists open pull requests, with their whole commits", async () => {
    for (let number = 1; number <= 130; number++) pull(number, { base: "many" });
    repository.branches.set("many", commit("c"));
    pull(200, { isDraft: true });
    pull(201, { isFork: true, author: "ghost" });
    const found = async (branch: string) => {
      const all = [];
      for (let page: number | null = 1; page !== null;) {
        const { items, next } = await host.pullRequests(key, page);
        all.push(...items);
        page = next;
      }
      return all.filter(({ base }) => base.branch === branch);
    };
    expect(await found("many")).toHaveLength(130);
    const [draft, fork] = await found("main");
    expect(draft).toEqual({
      number: 200,
      title: "Change 200",
      url: expect.stringMatching(/^https?:.*ada\/infra.*200$/),
      author: { id: expect.stringMatching(/^\{?3\}?$/), name: "grace" },
      head: { branch: "feature/a b", commit: commit("a") },
      // GitLab does not tell.
      base: { branch: "main", commit: kind === "gitlab" ? null : commit("b") },
      is_fork: false,
      is_draft: true,
    });
    expect(fork).toMatchObject({ number: 201, is_fork: true, head: { commit: commit("a") } });
    repository.pulls.clear();
  });

  it("says how a pull request ended", async () => {
    pull(1);
    pull(2, { state: "closed" });
    pull(3, { state: "closed", merge: commit("d") });
    expect(await Promise.all([1, 2, 3].map((number) => host.outcomeOf(key, number)))).toEqual([
      null,
      { merged: null },
      { merged: commit("d") },
    ]);
    await expect(host.outcomeOf(key, 4)).rejects.toMatchObject({ status: 404 });
  });

  it("lists changed files with both names of renamed ones, or says that the list is cut", async () => {
    const names = Array.from({ length: 230 }, (_, n) => `d/${n}.tf`);
    // What the other stand-ins name by one name.
    const isRenamed = kind !== "forgejo";
    pull(5, { files: [...names, ...(isRenamed ? ["old.tf -> new.tf"] : [])] });
    const found = await host.changedFiles(key, 5);
    expect(found.isCut).toBe(false);
    expect(found.paths.toSorted()).toEqual(
      [...names, ...(isRenamed ? ["new.tf", "old.tf"] : [])].toSorted(),
    );
    pull(6, { files: Array.from({ length: 10_000 }, (_, n) => `${n}.tf`) });
    const before = standIn.requests.length;
    expect((await host.changedFiles(key, 6)).isCut).toBe(true);
    expect(standIn.requests.length - before).toBeLessThan(70);
  });

  it("compares commits, also of a branch that was set back", async () => {
    const files = ["a.tf", "b/c.tf"];
    repository.compared.set(`${commit("1")}...${commit("2")}`, files);
    expect(await host.comparedFiles(key, commit("1"), commit("2"))).toEqual({
      paths: files,
      isCut: false,
    });
    const back = await host.comparedFiles(key, commit("2"), commit("1"));
    expect(back.isCut || back.paths.length === 2).toBe(true);
    await expect(host.comparedFiles(key, commit("8"), commit("9"))).rejects.toMatchObject({
      status: 404,
    });
  });

  it("sets statuses, the same one again too", async () => {
    const status = {
      context: "windlass/a-configuration-with-a-long-name-of-many-words",
      state: "failure",
      description: "é".repeat(host.limits.description),
      url: "https://windlass.example.com/jobs/1",
    } as const;
    for (const _ of [1, 2]) await host.setStatus(key, commit("a"), status);
    expect(repository.statuses.get(`${commit("a")} ${status.context}`)).toEqual({
      state: expect.stringMatching(/^failure|failed|FAILED$/),
      description: status.description,
      target_url: status.url,
    });
    await expect(host.setStatus(key, commit("0"), status)).rejects.toThrow(HostError);
  });

  it("writes one comment, finds its own, and notices that it was deleted", async () => {
    pull(7);
    const marker = "<!-- windlass -->";
    repository.comments.push({ id: 1, pull: 7, login: "mallory", body: `${marker} mine` });
    expect(await host.findComment(key, 7, marker)).toBeNull();
    const id = await host.writeComment(key, 7, `${marker} first`, null);
    if (host.hasHtmlComments) expect(await host.findComment(key, 7, marker)).toBe(id);
    expect(await host.writeComment(key, 7, `${marker} second`, id)).toBe(id);
    expect(repository.comments.map(({ body }) => body)).toEqual([
      `${marker} mine`,
      `${marker} second`,
    ]);
    repository.comments.pop();
    expect(await host.writeComment(key, 7, marker, id)).toBeNull();
  });

  it("knows who may write", async () => {
    repository.writers.add("ada");
    const may = await Promise.all(
      ["ada", "grace", "unknown"].map((one) => host.mayWrite(key, one)),
    );
    expect(may).toEqual([true, false, false]);
  });

  it("registers a webhook once, with the newest secret", async () => {
    // An App has one of its own.
    if (kind === "github_app") return;
    const url = "https://windlass.example.com/api/events/1";
    await host.addWebhook(key, "https://other.example.com/", "x");
    for (const secret of ["first", "second"]) await host.addWebhook(key, url, secret);
    expect(repository.hooks.slice(1)).toEqual([{ id: 2, url, secret: "second" }]);
  });

  it("says what a credential may do", async () => {
    const full = await host.check();
    expect(full.account).toMatch(/windlass/i);
    expect(full.permissions.filter(({ present }) => !present)).toEqual([]);
    expect(full.permissions.length).toBeGreaterThan(2);
    if (kind === "github_app") return;
    const weak = await open("weak").host.check();
    expect(weak.permissions.filter(({ present }) => !present).length).toBeGreaterThan(0);
    await expect(open("revoked").host.check()).rejects.toThrow(/wrong, revoked or expired/);
  });

  it("says what is wrong with an answer, whichever call gets it", async () => {
    const calls = {
      head: () => host.head(key, "main"),
      comment: () => host.writeComment(key, 7, "x", null),
      files: () => host.changedFiles(key, 7),
      may: () => host.mayWrite(key, "ada"),
    };
    const reset = String(Math.floor(Date.now() / 1000) + 90);
    for (const [answer, message, least] of [
      [{ status: 502, text: "<html>bad gateway</html>" }, /answers 502 to/],
      [{ status: 200, text: "<html>sign in</html>" }, /not JSON|redirects/],
      [{ status: 200, text: "[{}]" }, /does not match|redirects/],
      [{ status: 301, headers: { location: "http://127.0.0.1:1/" } }, /redirects/],
      [{ status: 401 }, /wrong, revoked or expired/],
      [{ status: 403, headers: { "retry-after": "120" } }, /rate limit/, 120_000],
      [{ status: 429 }, /rate limit/, 60_000],
      [
        { status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset } },
        /rate limit/,
        80_000,
      ],
      ["endless", /too long/],
    ] as const) {
      standIn.fault.answer = answer;
      for (const call of Object.values(calls)) {
        const error = await call().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).toBeInstanceOf(HostError);
        expect((error as HostError).message).toMatch(message);
        expect((error as HostError).retryAfter ?? 0).toBeGreaterThanOrEqual(least ?? 0);
      }
    }
    standIn.fault.answer = "silence";
    const impatient = new Outbound(["127.0.0.0/8"], 50);
    await expect(open("full", impatient).host.head(key, "main")).rejects.toThrow(/took too long/);
    await impatient.close();
    delete standIn.fault.answer;
  });
});

it("the short names of commits at Bitbucket stand for those of one API", async () => {
  const outbound = new Outbound(["127.0.0.0/8"]);
  for (const digit of ["8", "9"]) {
    await using standIn = await startBitbucket({ full: ["repository", "pullrequest:write"] });
    const sha = commit("7").slice(0, 12) + digit.repeat(28);
    const repository = standIn.addRepository("ada/infra");
    repository.branches.set("main", commit("b"));
    repository.pulls.set(1, newPull(1, { sha }));
    const at = { kind: "bitbucket", api: standIn.api } as const;
    const { host } = openHost(outbound, at, { credential: "full" }, Date.now);
    const key = await host.repository({ full_name: "ada/infra" });
    expect((await host.pullRequests(key, 1)).items[0]?.head.commit).toBe(sha);
  }
  await outbound.close();
});

describe("an App", () => {
  it("asks for a token when the last one is about to expire, and clones with a lesser one", async () => {
    const outbound = new Outbound(["127.0.0.0/8"]);
    const issuedFor = async (lifetime: number) => {
      await using standIn = await startGithub({ app: { ...testApp, lifetime } });
      standIn.addRepository("ada/infra").branches.set("main", commit("b"));
      const { host } = openHost(outbound, { ...address, api: standIn.api }, { app }, Date.now);
      const key = await host.repository({ full_name: "ada/infra" });
      await host.head(key, "main");
      return standIn.issued.length;
    };
    const address = { kind: "github_app" } as const;
    expect([await issuedFor(3_600_000), await issuedFor(200_000)]).toEqual([1, 2]);
    await using standIn = await startGithub({ app: testApp });
    standIn.addRepository("ada/infra").branches.set("main", commit("b"));
    const from = { ...address, api: standIn.api };
    const opened = openHost(outbound, from, { app }, Date.now);
    const key = await opened.host.repository({ full_name: "ada/infra" });
    const access = await opened.cloneAccess(key.id);
    expect(access).toMatchObject({ username: "x-access-token", token: "ghs_2" });
    expect(standIn.issued[1]).toMatchObject({
      permissions: { contents: "read" },
      repositories: [Number(key.id)],
    });
    // Not installed there any more, another App's key, and a clock that is ten minutes ahead.
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const private_key = other.export({ type: "pkcs8", format: "pem" }).toString();
    for (const [change, clock, status] of [
      [{ installation_id: "56" }, 0, 404],
      [{ private_key }, 0, 401],
      [{}, 600_000, 401],
    ] as const) {
      const now = () => Date.now() + clock;
      const { host } = openHost(outbound, from, { app: { ...app, ...change } }, now);
      await expect(host.head(key, "main")).rejects.toMatchObject({ status });
    }
    await outbound.close();
  });

  it("names the repository in each event that GitHub publishes", async () => {
    await using standIn = await startGithub({ app: testApp });
    const { isSigned, deliveryOf, repositoryIn } = eventKinds.github_app;
    for (const name of [
      "push$event",
      "pull_request$opened",
      "pull_request$synchronize",
      "pull_request$closed",
      "merge_group$checks_requested",
      "issue_comment$created",
    ]) {
      const { headers, body } = standIn.event(name, { repository: { id: 12 } }, "secret");
      expect(isSigned(headers, Buffer.from(body), ["secret"])).toBe(true);
      expect(deliveryOf(headers)).toMatch(/^[0-9a-f-]{36}$/);
      expect(repositoryIn(JSON.parse(body))).toBe("12");
    }
  });
});
