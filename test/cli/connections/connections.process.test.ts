/** Connections, followed branches and pull requests in the client, with a stand-in of Forgejo. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pollConnections } from "../../../control-plane/services/pull-requests/poll.ts";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { Connection } from "../../../protocol/connections.ts";
import type { PullRequest } from "../../../protocol/pull-requests.ts";
import { startForgejo } from "../../helpers/hosts/forgejo.ts";
import { newPull } from "../../helpers/hosts/stand-in.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine, type UserMachine } from "../../helpers/cli/user-machine.ts";
import { windlass } from "../../helpers/cli/windlass.ts";

let host: Awaited<ReturnType<typeof startForgejo>>;
beforeAll(async () => {
  host = await startForgejo({
    full: ["write:repository", "write:issue"],
    weak: ["read:repository"],
  });
});
afterAll(() => host[Symbol.asyncDispose]());

const { plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

const create = ["connections", "create", "git", "--kind", "forgejo", "--base-url"];

/** Runs a command with a secret on stdin, and checks that it is shown nowhere. */
async function withSecret(ada: UserMachine, secret: string, ...words: string[]) {
  const { exitCode, stdout, stderr } = await windlass(words, {
    env: ada.environment,
    input: secret,
  });
  expect(`${String(stdout)}${String(stderr)}`).not.toContain(secret);
  return { exitCode, stdout: String(stdout), stderr: String(stderr) };
}

test("a connection is made, checked, changed and deleted, and its token is shown nowhere", async () => {
  await using ada = await userMachine(plane);
  host.addRepository("ada/checked");
  const missing = await ada.run(...create, host.url);
  expect(missing).toMatchObject({ exitCode: 2, stdout: "" });
  expect(missing.stderr).toContain("Missing secret on stdin. Pipe in the value of the token.");

  const made = await withSecret(ada, "weak", ...create, host.url, "--poll", "600");
  expect(made).toMatchObject({ exitCode: 0 });
  expect(made.stdout).toMatch(/^looks every +600 seconds$/m);
  expect(made.stdout).toMatch(
    new RegExp(`^address {2}${plane.url}/api/events/[0-9a-f-]{36}$`, "m"),
  );
  expect(made.stdout).toMatch(/^secret {3}wlwh_\S+$/m);
  expect(made.stderr).toContain("windlass connections check git");
  expect(await ada.json<Connection[]>("connections", "list")).toMatchObject([{ name: "git" }]);

  const checked = await ada.run("connections", "check", "git");
  expect(checked.stdout).toMatch(/^read:repository +ok +/m);
  expect(checked.stdout).toMatch(/^write:issue +missing +comments on pull requests$/m);
  expect(checked.stderr).toContain("Account: windlass-bot");
  expect(checked.stderr).toContain("Warning: runners receive this credential to clone");
  const refused = await ada.run("connections", "add-webhook", "git", "ada/checked");
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toMatch(/Add a webhook to ada\/checked by hand: address http/);

  const updated = ["connections", "update", "git", "--credential", "--clone-credential"];
  expect(await withSecret(ada, "full\nweak", ...updated)).toMatchObject({ exitCode: 0 });
  expect((await ada.run("connections", "check", "git")).stdout).not.toContain("missing");
  expect(await ada.run("connections", "add-webhook", "git", "ada/checked")).toMatchObject({
    exitCode: 0,
    stderr: "The host sends the events of ada/checked.",
  });
  expect(await ada.json("connections", "repositories", "git")).toMatchObject([
    { full_name: "ada/checked" },
  ]);
  const rotated = await ada.run("connections", "rotate-secret", "git", "--overlap", "60");
  expect(rotated.stdout).toMatch(/^secret {3}wlwh_\S+$/m);
  expect(rotated.stderr).toContain("within 60 seconds");
  expect(await ada.run("connections", "update", "git")).toMatchObject({ exitCode: 2 });
  expect(await ada.run("connections", "delete", "git", "--yes")).toMatchObject({
    exitCode: 0,
    stderr: 'The connection "git" is deleted.',
  });
});

test("an App is made in two steps, and a wrong key says so without being shown", async () => {
  await using ada = await userMachine(plane);
  const made = await ada.run("connections", "create", "hub", "--kind", "github-app");
  expect(made).toMatchObject({ exitCode: 0 });
  expect(made.stderr).toContain("windlass connections update hub --app-id ID --private-key FILE");
  const file = join(ada.path, "app.pem");
  writeFileSync(file, "no key at all");
  const update = ["connections", "update", "hub", "--app-id", "1", "--private-key"];
  const wrong = await ada.run(...update, file);
  expect(wrong.exitCode).toBe(1);
  expect(wrong.stderr).toContain("must be an RSA private key in PEM");
  expect(wrong.stderr).not.toContain("no key at all");
  expect((await ada.run(...update, "/nowhere")).stderr).toContain('"/nowhere" cannot be read');
});

test("a configuration follows a branch, and shows its commits and pull requests", async () => {
  await using ada = await userMachine(plane);
  const repository = host.addRepository("ada/infra");
  repository.branches.set("main", "b".repeat(40));
  repository.branches.set("live", "d".repeat(40));
  const head = "c".repeat(40);
  const change = { title: "Add a subnet", head: "subnet", sha: head, files: ["net/main.tf"] };
  repository.pulls.set(7, newPull(7, { ...change, isFork: true }));
  const follow = ["configurations", "follow", "net"];
  await ada.user.configure({ name: "net" });
  expect((await ada.run(...follow)).stderr).toContain("windlass connections create --help");
  await withSecret(ada, "full", ...create, host.url);

  // A change makes a look due.
  const look = () => pollConnections(plane.context, new AbortController().signal);
  const url = `${host.url}/ada/infra.git`;
  const begun = await ada.run(...follow, "--git", url, "--path", "net", "--forks", "approved");
  expect(begun).toMatchObject({ exitCode: 0 });
  expect(begun.stdout).toMatch(/^follows +main of ada\/infra \(connection "git"\)$/m);
  expect(begun.stderr).toContain(
    "It follows main. The first look starts jobs for open pull requests only.",
  );
  await look();
  await expect
    .poll(async () => (await ada.run("configurations", "show", "net")).stdout)
    .toMatch(/^last seen commit +b{40}$/m);
  const shown = await ada.run("configurations", "show", "net");
  expect(shown.stdout).toMatch(
    /^pull requests +#7 Add a subnet \(grace\): needs approval to be planned$/m,
  );
  const listed = await ada.run("pull-requests", "list", "--configuration", "net");
  expect(listed.stdout).toMatch(
    /^ada\/infra#7 +Add a subnet +grace \(fork\) +open +cccccccc +needs approval/m,
  );

  const approve = ["pull-requests", "approve", "ada/infra#7", "--commit"];
  expect((await ada.run(...approve, "abc")).exitCode).toBe(2);
  const older = await ada.run(...approve, "0123456789");
  expect(older.stderr).toContain(`the pull request is at ${head} now`.replace("the", "The"));
  expect(await ada.run(...approve, "ccccccc")).toMatchObject({
    exitCode: 0,
    stderr: "The commit cccccccc of ada/infra#7 will be planned.",
  });
  await look();
  await expect
    .poll(async () => (await ada.run("pull-requests", "list")).stdout)
    .toMatch(/cccccccc +net: QUEUED/);
  expect(await ada.json<PullRequest[]>("pull-requests", "list", "--state", "closed")).toEqual([]);

  // Options change parts of what is followed; the request replaces it whole.
  const rules = ["--push", "deploy", "--branch", "live", "--trigger-path", "modules/**"];
  const changed = await ada.json<Configuration>(...follow, ...rules);
  expect(changed.follow).toMatchObject({
    branch: "live",
    push: "deploy",
    forks: "approved",
    trigger_paths: ["modules/**"],
  });
  const used = await ada.run("connections", "delete", "git", "--yes");
  expect(used.stderr).toContain('"net" follows a branch through it');
  expect(used.stderr).toContain("windlass configurations follow NAME --end");
  expect((await ada.run(...follow, "--end", "--push", "off")).exitCode).toBe(2);
  expect((await ada.json<Configuration>(...follow, "--end")).follow).toBeNull();
});
