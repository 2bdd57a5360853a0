/**
 * Every command of the client, from the sign-in to the sign-out, in a real terminal and in a pipe,
 * with one server and real runners. The list of commands comes from the program, so a new command
 * that no test runs fails here.
 */
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scratch, startAgent, until, type AgentProcess } from "../helpers/agent/agent-process.ts";
import { pollConnections } from "../../control-plane/services/pull-requests/poll.ts";
import * as courses from "./command-walkthrough.ts";
import type { Person } from "./command-walkthrough.ts";
import { allCommands, openCommandDriver, ways } from "../helpers/cli/command-driver.ts";
import { copyFixture } from "../helpers/agent/fixtures.ts";
import { startForgejo } from "../helpers/hosts/forgejo.ts";
import { listen, type Listening } from "../helpers/network/listen.ts";
import { newPull } from "../helpers/hosts/stand-in.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import { proving } from "../helpers/project/proving.ts";
import { startPlainProvider, TestBrowser, type FakeProvider } from "../helpers/people/providers.ts";
import { approve } from "../helpers/people/sign-in.ts";
import { acceptLink } from "../helpers/people/teams.ts";
import { addTestUser } from "../helpers/people/user.ts";

/** Commands of demo.test.ts, readme.test.ts and drift.test.ts here, and those that are not the client's. */
const elsewhere = ["demo", "dev", "drift accept", "server", "agent"];

let github: FakeProvider;
let receiver: Listening;
let host: Awaited<ReturnType<typeof startForgejo>>;
const fork = newPull(1, {
  title: "a change",
  author: "bob",
  head: "topic",
  sha: "a".repeat(40),
  files: ["main.tf"],
  isFork: true,
});
type Browser = Awaited<ReturnType<typeof signInAtGitHub>>;
const browsers = new Map<string, Browser>();
beforeAll(async () => {
  github = await startPlainProvider("github");
  receiver = await listen(createServer((_, response) => response.writeHead(204).end()));
  host = await startForgejo({ full: ["write:repository", "write:issue"] });
  const repository = host.addRepository("ada/infra");
  repository.branches.set("main", "b".repeat(40));
  repository.pulls.set(fork.number, fork);
});
afterAll(() =>
  Promise.all([github.close(), host[Symbol.asyncDispose](), receiver[Symbol.asyncDispose]()]),
);
const { plane } = planeForFile(() => ({
  GITHUB_CLIENT_ID: "client",
  GITHUB_CLIENT_SECRET: "client-secret",
  GITHUB_BASE_URL: github.url,
  WINDLASS_SIGN_IN_ALLOW: "*",
  WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8",
  WINDLASS_OIDC_ISSUER: "https://id.example.com",
  WINDLASS_OIDC_CLIENT_ID: "client",
  WINDLASS_OIDC_CLIENT_SECRET: "client-secret",
}));
beforeAll(async () => {
  for (const way of driven) browsers.set(way, await signInAtGitHub(`${way.slice(2)}@example.com`));
});

/** The tests in test/cli run single commands in a pipe. */
const driven = proving ? ways : (["a terminal"] as const);

/** More than a hundred runs of the client: 74 s on two idle cores, over 5 min on a busy machine. */
const timeout = 15 * 60_000;

test.concurrent.for(driven)("every command works in %s", { timeout }, async (way) => {
  using place = scratch();
  const browser = browsers.get(way)!;
  const drive = await openCommandDriver(way, { WINDLASS_CONFIG_DIR: join(place.path, "client") });
  const it = { ...drive, path: place.path };

  await signIn(it, browser);
  await useTeams(it);
  await courses.useZonesAndIdentities(it);
  await courses.useNotifications(it, receiver.url);
  await courses.useConnections(it, host.url);
  await pollConnections(plane.context, new AbortController().signal);
  await expect.poll(() => it.json("pull-requests", "list"), { timeout }).toHaveLength(1);
  await courses.usePullRequests(it, fork.sha);
  {
    await using runner = await addRunner(it, "runner");
    await courses.useWorkers(it);
    await courses.useConfigurations(it);
    await courses.bringUp(it);
    await courses.useJobs(it);
    await courses.useState(it);
    await tearDownWorker(it);
    await loseRunner(it, runner);
  }
  await unlockAfterwards(it);
  await lookBack(it);

  const left = (await allCommands()).filter((command) => !it.driven.has(command));
  expect(left).toEqual(elsewhere);
});

/** A browser that signed in with GitHub, and can list its repositories. */
async function signInAtGitHub(email: string) {
  Object.assign(github.person, { subject: String(browsers.size + 1), email });
  const browser = new TestBrowser();
  // Once more by the person who is signed in: connects the repositories.
  for (let visits = 0; visits < 2; visits += 1)
    await browser.visit(`${plane.url}/api/auth/login/github`, (url) => url === `${plane.url}/`);
  const jar = browser.jars.get(new URL(plane.url).host) ?? new Map<string, string>();
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  return { email, headers: { cookie, origin: plane.url } };
}

async function signIn({ run }: Person, browser: Browser): Promise<void> {
  const line = async (shown: string): Promise<string> => {
    const device = /device_code=([\w-]+)/.exec(shown)?.[1];
    return (await approve(plane, browser, device)).verification_code;
  };
  await run(["login", "--no-browser", "--server", plane.url], {
    answer: { to: "The six characters shown in the browser: ", line },
    says: new RegExp(`Signed in to ${plane.url} as ${browser.email}`),
  });
  await run(["whoami"], { data: new RegExp(`^email +${browser.email}$`, "m"), reads: true });
  const { host } = new URL(plane.url);
  await run(["profiles", "use", host], { says: /The current profile is now/ });
  await run(["profiles", "list"], { data: new RegExp(`^\\* +${host}`, "m"), reads: true });
  await run(["version"], { data: /^package +checkout$/m, reads: true });
  await run(["completion", "bash"], { data: /complete -o default -F _windlass windlass/ });
  await run(["repositories", "list", "github"], { data: /^ada\/network +main/m, reads: true });
}

/** Creates a team with members, acts in it, and leaves it; in the end there is no team. */
async function useTeams({ run, way }: Person): Promise<void> {
  const [slug, end] = [`team-${way.slice(2)}`, `gone-${way.slice(2)}`];
  await run(["teams", "create", "Platform", "--slug", slug], {
    data: new RegExp(`^team +${slug}$`, "m"),
    says: new RegExp(`windlass teams use ${slug}`),
  });
  await run(["teams", "rename", slug, "Infrastructure"], { data: /^name +Infrastructure$/m });
  await run(["teams", "use", slug], { says: /You act in the team "Infrastructure" from now on/ });
  await run(["teams", "list"], { data: new RegExp(`^\\* +${slug} .* admin `, "m"), reads: true });
  await run(["zones", "create", "shared"], { data: /^name +shared$/m });
  await run(["zones", "move", "shared", "--team", ""], {
    asks: 'Move the zone "shared" to your personal space, with its configurations, their jobs and states?',
    says: /is in your personal space now/,
  });
  await run(["zones", "delete", "shared", "--team", ""], {
    asks: 'Delete the zone "shared"?',
    says: /is deleted/,
  });
  const emails: string[] = [];
  for (const role of ["planner", "viewer"]) {
    const invited = await run(["teams", "invite", "--role", role], { data: /^link +\S+$/m });
    const user = await addTestUser(plane);
    await acceptLink(plane, /^link +(\S+)$/m.exec(invited)?.[1] ?? "", user);
    emails.push(`${user.owner.id}@example.com`);
  }
  const [first = "", second = ""] = emails;
  await run(["teams", "members", "update", first, "--role", "admin"], { data: /^role +admin$/m });
  await run(["teams", "members", "remove", second], {
    asks: `Remove ${second} from the team "${slug}"?`,
    says: /is no longer a member/,
  });
  await run(["teams", "members", "list"], {
    data: new RegExp(`^${first.slice(0, 30)}\\S+ +admin `, "m"),
    reads: true,
  });
  await run(["teams", "groups", "add", "/engineers", "--role", "planner"], {
    says: /People in the group "\/engineers" are planner of the team/,
  });
  await run(["teams", "groups", "list"], {
    data: /^\/engineers +planner +https:\/\/id\.example\.com$/m,
    reads: true,
  });
  await run(["teams", "groups", "remove", "/engineers"], {
    asks: `Remove the group "/engineers" from the team "${slug}"?`,
    says: /gives nothing any more/,
  });
  const open = "eve@example.com";
  await run(["teams", "invite", open, "--role", "viewer"], { data: /^email +eve@example\.com$/m });
  await run(["teams", "invitations", "list"], { data: /^eve@example\.com +viewer /m, reads: true });
  await run(["teams", "invitations", "revoke", open], { says: /does not work any more/ });
  await run(["teams", "show"], { data: /^your role +admin$/m, reads: true });
  await run(["teams", "leave", slug], {
    asks: `Leave the team "${slug}"? Your access tokens in it stop working.`,
    says: /You have left/,
  });
  await run(["teams", "create", "Gone", "--slug", end], { data: /^your role +admin$/m });
  await run(["teams", "delete", end], {
    asks: `Delete the team "${end}" with its invitations, access tokens, cloud identities and variable sets?`,
    says: /is deleted/,
  });
}

/** Creates a registration token and starts a runner with it. */
async function addRunner({ run, path, json }: Person, name: string): Promise<AgentProcess> {
  const shown = await run(["tokens", "create"], {
    data: /^token +\S+$/m,
    says: /--registration-token-file -/,
  });
  const agent = startAgent({
    WINDLASS_URL: plane.url,
    WINDLASS_WORK_DIR: join(path, name),
    WINDLASS_REGISTRATION_TOKEN: /^token +(\S+)$/m.exec(shown)?.[1] ?? "",
    WINDLASS_WORKER_NAME: name,
  });
  await until(() => agent.log().includes("ready for jobs"));
  expect(await json("workers", "show", name)).toMatchObject({ status: "ONLINE" });
  return agent;
}

/** Sets what a worker was deployed with, and tears it down with another one. */
async function tearDownWorker({ run, json, path }: Person): Promise<void> {
  const directory = copyFixture("worker-destroy", join(path, "pools"));
  await run(["configurations", "create", "--dir", directory], { data: /^name +pools$/m });
  await run(["jobs", "deploy", "pools", "--wait"], { data: /Apply complete!/ });
  await run(
    [
      "workers",
      "update",
      "leaving",
      "--deploy-configuration",
      "pools",
      "--target",
      "module.worker",
    ],
    { data: /^teardown +destroys module\.worker of "pools"$/m },
  );
  await run(["jobs", "destroy-worker", "leaving", "--wait"], {
    asks: 'Tear down the worker "leaving": destroy module.worker of "pools", and remove the worker?',
    data: /2 destroyed/,
  });
  const left = (await json("workers", "list")) as { name: string }[];
  expect(left.map(({ name }) => name)).toEqual(["runner"]);
}

/** Kills the runner's machine during an apply and removes the runner: its job is lost. */
async function loseRunner({ run, json, path }: Person, runner: AgentProcess): Promise<void> {
  const directory = copyFixture("long-running", join(path, "ticking"));
  await run(["configurations", "create", "--dir", directory], { data: /^name +ticking$/m });
  const id = courses.jobIn(await run(["jobs", "deploy", "ticking"], { data: /^status +QUEUED$/m }));
  const work = join(path, "runner");
  await until(() => processesOf(work).some((line) => line.includes("sleep 1")));
  runner.kill("SIGKILL");
  await until(() => {
    const alive = processesOf(work).map((line) => Number(line.split(":")[0]));
    for (const pid of alive) killed(pid);
    return alive.length === 0;
  });
  await run(["workers", "delete", "runner"], {
    asks: `Remove the worker "runner" and lose the job it runs: deployment of "ticking" (${id})?`,
    says: /is removed/,
  });
  expect(await json("jobs", "show", id)).toMatchObject({ status: "FAILED" });
}

async function unlockAfterwards(it: Person): Promise<void> {
  await using _ = await addRunner(it, "second");
  const id = courses.jobIn(
    await it.run(["jobs", "plan", "ticking"], { data: /^status +QUEUED$/m }),
  );
  expect(await it.json("jobs", "show", id)).toMatchObject({ waiting_reason: "state_locked" });
  await it.run(["state", "unlock", "ticking"], {
    asks: 'Unlock the state of "ticking"? If its terraform is still running, it may overwrite later changes.',
    says: /is unlocked\. Waiting jobs continue/,
  });
  await it.run(["jobs", "logs", id, "--follow"], {
    data: /5 to add/,
    says: /The plan of "ticking" succeeded/,
  });
}

async function lookBack({ run, json }: Person): Promise<void> {
  await run(["audit", "list", "--limit", "500"], { data: /state\.unlock/, reads: true });
  await run(["logins", "list"], { data: /^\* +client/m, reads: true });
  const logins = (await json("logins", "list")) as { id: string; current: boolean }[];
  const other = logins.find(({ current }) => !current)?.id ?? "";
  await run(["logins", "delete", other], { says: /ended/ });
  expect(await json("logins", "list")).toHaveLength(logins.length - 1);
  await run(["logout"], { says: /^Signed out at /m });
}

function killed(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // The process has already ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
