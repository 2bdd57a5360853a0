/**
 * A day of a team: three people and a pipeline, from the first sign-in over the invitations to an
 * approved deployment to production, in the console and the client, with the audit log at the end.
 */
import { appendFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import type { AuditEntry } from "../../protocol/audit.ts";
import type { Job } from "../../protocol/jobs.ts";
import { scratch, startAgent, until } from "../helpers/agent/agent-process.ts";
import { submit, texts, words, type Fields } from "../helpers/console/forms.ts";
import { ask } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { startCommand } from "../helpers/cli/running-command.ts";
import { approve, cookieOf } from "../helpers/people/sign-in.ts";
import { root } from "../helpers/project/source-files.ts";
import { windlass } from "../helpers/cli/windlass.ts";

const { plane } = planeForFile();

/** Opens a page as a visitor, signs in with the operator's link, and returns to that page. */
async function signInAt(email: string, path: string) {
  const asked = await ask(plane, "GET", path);
  expect(asked.status).toBe(303);
  const login = await ask(plane, "GET", String(asked.headers["location"]));
  const { stdout } = await windlass(["server", "login-link", "--email", email], {
    env: { WINDLASS_DATA_DIR: plane.directory },
  });
  const opened = await ask(plane, "GET", new URL(String(stdout)).pathname, {
    headers: { cookie: cookieOf(login) ?? "" },
  });
  expect([opened.status, opened.headers["location"]]).toEqual([303, path]);
  return { cookie: cookieOf(opened) ?? "", origin: plane.url };
}

/** A person with a browser, which is at `path` after the sign-in, and a client. */
async function person(email: string, path: string) {
  const headers = await signInAt(email, path);
  const { path: directory, [Symbol.dispose]: remove } = scratch();
  const env = { WINDLASS_CONFIG_DIR: directory };
  const page = async (at: string): Promise<string> => {
    const { status, text } = await ask(plane, "GET", at, { headers });
    expect([at, status]).toEqual([at, 200]);
    return text;
  };
  const run = async (...line: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await windlass(line, { env });
    expect({ line, exitCode, stderr }).toMatchObject({ exitCode: 0 });
    return String(stdout);
  };
  return {
    email,
    env,
    page,
    /** Sends a form of a page. */
    post: (at: string, fields: Fields = {}) => submit(plane, at, fields, headers),
    run,
    json: async <T>(...line: string[]): Promise<T> => JSON.parse(await run(...line, "--json")) as T,
    /** Signs the client in, with the code that the browser shows. */
    signInClient: async () => {
      const login = windlass(["login", "--no-browser", "--server", plane.url], {
        env,
        stdin: "pipe",
      });
      let told = "";
      login.stderr?.on("data", (text: Buffer) => void (told += text.toString()));
      const device = await until(() => /device_code=([\w-]+)\s/.exec(told)?.[1]);
      const { verification_code } = await approve(plane, { headers }, device);
      login.stdin?.end(`${verification_code}\n`);
      expect(await login).toMatchObject({ exitCode: 0 });
    },
    [Symbol.dispose]: remove,
  };
}

/** Returns the audit log of a space, the oldest entry first: who did what, and to which job. */
const auditOf = async (space: string, log: Promise<AuditEntry[]>): Promise<string[]> =>
  (await log)
    .toReversed()
    .map(({ actor, action, target }) =>
      [
        `${space}: ${actor.name ?? actor.kind} ${action}`,
        ...(isJob(action) ? [target.name] : []),
      ].join(" "),
    );
const isJob = (action: string): boolean => action.startsWith("job.");

test("a team deploys to production with the approval of a second person", async () => {
  // In the morning, Ada signs in with the operator's link, and invites two people in the console.
  using ada = await person("ada@example.com", "/teams");
  const created = await ada.post("/teams", { name: "Platform", slug: "platform" });
  expect([created.status, created.headers["location"]]).toEqual([303, "/teams/platform"]);
  const invite = async (email: string, role: string): Promise<string> => {
    const page = await ada.post("/teams/platform/invitations", { email, role });
    return new URL(texts(page, "#link")[0]!).pathname;
  };
  const links = [
    await invite("grace@example.com", "deployer"),
    await invite("pat@example.com", "planner"),
  ] as const;
  const accept = async (email: string, link: string) => {
    const one = await person(email, link);
    expect(words(await one.page(link))).toContain(`Join as ${email}`);
    const joined = await one.post(link);
    expect([joined.status, joined.headers["location"]]).toEqual([303, "/?team=platform"]);
    return one;
  };
  using grace = await accept("grace@example.com", links[0]);
  using pat = await accept("pat@example.com", links[1]);
  for (const one of [ada, grace, pat]) {
    await one.signInClient();
    await one.run("teams", "use", "platform");
  }

  // Ada starts a runner, and Grace brings the cluster up.
  using place = scratch();
  const { registration_token } = await ada.json<Record<string, string>>("tokens", "create");
  await using runner = startAgent({
    WINDLASS_URL: plane.url,
    WINDLASS_WORK_DIR: join(place.path, "work"),
    WINDLASS_REGISTRATION_TOKEN: registration_token ?? "",
    WINDLASS_WORKER_NAME: "runner",
  });
  await until(() => runner.log().includes("ready for jobs"));
  const checkout = async (name: string): Promise<string> => {
    const cwd = join(place.path, name);
    cpSync(join(root, "samples"), cwd, {
      recursive: true,
      filter: (file) => !file.endsWith("/.windlass"),
    });
    await execa("git", ["init", "--quiet"], { cwd });
    await execa("git", ["remote", "add", "origin", "https://git.example.com/a/b.git"], { cwd });
    return cwd;
  };
  const zone = ["--zone", "production"];
  await grace.run("up", join(await checkout("grace"), "hello-cluster"), "--yes", ...zone);

  // From now on, a second person approves what is deployed there. A pipeline deploys.
  await ada.run("configurations", "update", "hello-cluster", "--approvals", "1");
  const token = ["access-tokens", "create", "ci", "--role", "deployer"];
  const { access_token } = await ada.json<Record<string, string>>(...token);

  // At noon, Pat looks at what is deployed, and may plan, but not deploy.
  await pat.run("jobs", "plan", "hello-cluster", "--wait");
  const direct = await windlass(["jobs", "deploy", "hello-cluster", "--plan", "-"], {
    env: pat.env,
  });
  expect(direct).toMatchObject({ exitCode: 1 });
  expect(direct.stderr).toContain("This needs the role deployer. You have the role planner.");

  // In the afternoon, a change is merged. The pipeline plans it and waits.
  const cwd = await checkout("pipeline");
  const change = 'output "changed" {\n  value = "in the afternoon"\n}\n';
  appendFileSync(join(cwd, "hello-cluster/main.tf"), change);
  const ci = {
    CI: "true",
    WINDLASS_URL: plane.url,
    WINDLASS_TOKEN: access_token ?? "",
    WINDLASS_CONFIG_DIR: join(cwd, "none"),
  };
  await using pipeline = startCommand(["up", "hello-cluster", "--yes"], ci, cwd);
  const told = await pipeline.says(
    'Deployment of "hello-cluster": waits for 1 approval by a deployer other than ada@example.com',
  );
  expect(told).toContain("grace@example.com can approve it.");
  const id = /windlass jobs approve (\S+)/.exec(told)?.[1] ?? "";

  // Pat and Ada cannot approve it: Ada made the token. Grace sees it in her lists, and approves.
  const decision = { decision: "approve", comment: "only an output" };
  for (const one of [pat, ada])
    expect((await one.post(`/jobs/${id}/approvals`, decision)).status).toBe(403);
  const waiting = ["jobs", "list", "--waiting-for-me"];
  expect(await ada.json<Job[]>(...waiting)).toEqual([]);
  expect(await grace.json<Job[]>(...waiting)).toMatchObject([{ id }]);
  const shownTo = async (one: typeof ada) => words(await one.page(`/jobs/${id}`));
  expect(await shownTo(grace)).toMatch(/Waits for 1 approval by a deployer .* Approve Reject/);
  expect(await shownTo(pat)).toMatch(/Waits for 1 approval .* You cannot decide/);
  const decided = await grace.post(`/jobs/${id}/approvals`, decision);
  expect(decided.status).toBe(303);
  const done = await pipeline.ended();
  expect(done).toMatchObject({ exitCode: 0 });
  expect(done.stdout).toMatch(/^ {2}changed += in the afternoon$/m);

  // In the evening, everyone can read who did what.
  const shown = await pat.run("jobs", "show", id);
  expect(shown).toMatch(/^approvals +grace@example\.com approved .* ago: only an output$/m);
  const page = words(await pat.page("/audit?team=platform"));
  expect(page).toContain("grace@example.com approved the deployment of");
  const all = ["audit", "list", "--limit", "500"];
  const ofTeam = await auditOf("platform", pat.json<AuditEntry[]>(...all));
  expect(ofTeam).toEqual([
    "platform: ada@example.com team.create",
    "platform: ada@example.com invitation.create",
    "platform: ada@example.com invitation.create",
    "platform: grace@example.com member.join",
    "platform: pat@example.com member.join",
    "platform: ada@example.com registration_token.create",
    "platform: registration_token worker.register",
    "platform: grace@example.com archive.upload",
    "platform: grace@example.com zone.create",
    "platform: grace@example.com configuration.create",
    "platform: grace@example.com job.create PLAN",
    "platform: runner job.end PLAN",
    "platform: grace@example.com job.create DEPLOY",
    "platform: system configuration.update",
    "platform: runner job.end DEPLOY",
    "platform: ada@example.com configuration.update",
    "platform: ada@example.com access_token.create",
    "platform: pat@example.com job.create PLAN",
    "platform: runner job.end PLAN",
    "platform: ci (token of ada@example.com) archive.upload",
    "platform: ci (token of ada@example.com) job.create PLAN",
    "platform: runner job.end PLAN",
    "platform: ci (token of ada@example.com) job.create DEPLOY",
    "platform: grace@example.com job.approve DEPLOY",
    "platform: system configuration.update",
    "platform: runner job.end DEPLOY",
  ]);
  for (const one of [ada, grace, pat])
    expect(await auditOf("personal", one.json<AuditEntry[]>(...all, "--team", ""))).toEqual([
      `personal: ${one.email} login.create`,
      `personal: ${one.email} device_code.approve`,
      `personal: ${one.email} login.create`,
    ]);
});
