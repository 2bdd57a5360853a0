/** Commands for which test/acceptance/every-command.test.ts has only the usual case. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { WorkerIdentity } from "../../protocol/workers.ts";
import { ask } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { openTerminal } from "../helpers/machine/terminal.ts";
import { windlass } from "../helpers/cli/windlass.ts";

const { plane } = planeForFile();

/** The status of a request for the worker with its own token: 200 if the token is valid. */
const tokenStatus = async ({ worker_id, worker_token }: WorkerIdentity): Promise<number> => {
  const headers = { "x-worker-id": worker_id, "x-worker-token": worker_token };
  return (await ask(plane, "GET", `/api/workers/${worker_id}`, { headers })).status;
};

describe.concurrent("the command line", () => {
  test("creates a worker and rotates its token, with only the token on stdout", async () => {
    await using ada = await userMachine(plane);
    const first = await ada.json<WorkerIdentity>(
      "workers",
      "create",
      "runner-1",
      "--label",
      "eu",
      "--label",
      "gpu",
    );
    expect(Object.keys(first).toSorted()).toEqual(["worker_id", "worker_token"]);
    expect(await tokenStatus(first)).toBe(200);
    const shown = await ada.run("workers", "show", "runner-1");
    expect(shown.stdout).toMatch(/^labels +eu, gpu$/m);
    expect(shown.stdout).not.toContain(first.worker_token);
    const second = await ada.json<WorkerIdentity>("workers", "rotate-token", "runner-1", "--yes");
    expect([await tokenStatus(first), await tokenStatus(second)]).toEqual([200, 200]);
    const rotated = await ada.run("workers", "rotate-token", "runner-1", "--overlap", "0", "--yes");
    // The service has an identity.json, which takes precedence over a registration token.
    expect(rotated.stderr).toContain("/etc/credstore/windlass-agent.worker-token");
    expect(rotated.stderr).toContain(`WINDLASS_WORKER_ID=${first.worker_id}' | sudo tee -a`);
    expect(rotated.stderr).not.toContain("registration-token");
    expect([await tokenStatus(first), await tokenStatus(second)]).toEqual([401, 401]);
    const wrong = await ada.run("workers", "rotate-token", "runner-1", "--overlap", "x", "--yes");
    expect(wrong).toMatchObject({ exitCode: 2, stdout: "" });
    const people = await ada.run("workers", "create", "runner-2");
    expect(people.stdout).toMatch(/^worker_token +wlw_\S+$/m);
    expect(people.stderr).toContain("windlass agent install --url");
    expect(people.stderr).not.toContain("wlw_");
  });

  test("names what a teardown destroys when it is set and before it is queued", async () => {
    await using ada = await userMachine(plane);
    const { user } = ada;
    const { worker_id: id } = await user.client.call("createWorker", {
      body: { name: "old", labels: ["eu"] },
    });
    await user.configure({ name: "network" });
    const update = (...words: string[]) => ada.run("workers", "update", ...words);
    const changed = ["--name", "new", "--label", "", "--deploy-configuration", "network"];
    const all = await update("old", ...changed);
    expect(all.stdout).toMatch(/^name +new$/m);
    expect(all.stdout).toMatch(/^teardown +destroys everything in the state of "network"$/m);
    const asked = await ada.run("jobs", "destroy-worker", "new");
    expect(asked.exitCode).toBe(2);
    expect(asked.stderr).toContain(
      'Tear down the worker "new": destroy everything in the state of "network", and remove the worker?',
    );
    const file = join(ada.path, "deploy.json");
    const source = { type: "inline", files: { "main.tf": "" } };
    const snapshot = { name: "pool", source };
    writeFileSync(file, JSON.stringify({ snapshot, targets: ["module.worker"] }));
    await update(id, "--deploy-file", file);
    const queued = await ada.run("jobs", "destroy-worker", "new", "--yes");
    expect(queued.stderr).toContain('destroy module.worker of "pool", and remove the worker.');
    const { jobs } = await user.client.call("listJobs");
    expect(jobs).toHaveLength(1);
    const waits = await ada.run("jobs", "show", jobs[0]?.id ?? "");
    expect(waits.stdout).toContain('the runner of "new" cannot run its own teardown');
    const cancelled = await ada.run("jobs", "cancel", jobs[0]?.id ?? "");
    expect(cancelled.stderr).toContain("To end that: windlass workers undrain new");
    expect(await ada.json("workers", "update", id, "--deploy-configuration", "none")).toMatchObject(
      { name: "new", labels: [], metadata: {} },
    );
    expect(await update(id, "--target", "module.a")).toMatchObject({ exitCode: 2 });
  });

  test("creates a registration token with the given uses and expiry", async () => {
    await using ada = await userMachine(plane);
    const made = await ada.json<{
      uses_left: number;
      expires_at: string;
    }>("tokens", "create", "--uses", "3", "--expires", "10");
    expect(made.uses_left).toBe(3);
    expect(Date.parse(made.expires_at) - Date.now()).toBeLessThan(601_000);
    expect(await ada.run("tokens", "create", "--uses", "x")).toMatchObject({ exitCode: 2 });
    const tooLong = await ada.run("tokens", "create", "--expires", "43201");
    expect(tooLong.stderr).toContain("--expires must be a whole number from 1 to 43200");
    expect(tooLong).toMatchObject({ exitCode: 2 });
    expect((await ada.run("tokens", "create")).stderr).toContain("--registration-token-file -");
  });

  test("uses an access token in place of a login, and says what it is", async () => {
    await using ada = await userMachine(plane);
    type Created = { id: string; access_token: string; expires_at: string };
    const make = (...words: string[]) => ada.json<Created>("access-tokens", "create", ...words);
    const made = await make("ci", "--role", "planner", "--days", "2");
    expect(Date.parse(made.expires_at) - Date.now()).toBeLessThan(2 * 86_400_000 + 1);
    const file = join(ada.path, "token");
    writeFileSync(file, `${made.access_token}\n`);
    for (const given of [
      { WINDLASS_TOKEN: made.access_token },
      { WINDLASS_TOKEN_FILE: file },
    ] as const) {
      const env = { ...given, WINDLASS_URL: plane.url, WINDLASS_CONFIG_DIR: join(ada.path, "ci") };
      const pipeline = (...words: string[]) => windlass(words, { env });
      const [variable = ""] = Object.keys(given);
      expect((await pipeline("whoami")).stdout).toMatch(
        new RegExp(`^access token +ci, from ${variable}\nrole +planner\n`, "m"),
      );
      expect(JSON.parse((await pipeline("whoami", "--json")).stdout as string)).toMatchObject({
        access_token: { id: made.id, name: "ci", role: "planner" },
      });
      expect((await pipeline("zones", "list")).exitCode).toBe(0);
      const refused = await pipeline("zones", "create", "z");
      expect(refused).toMatchObject({ exitCode: 1 });
      expect(refused.stderr).toContain(
        'This needs the role deployer. The access token "ci" has the role planner, at most that of its creator.',
      );
      expect((await pipeline("logout")).stderr).toContain(`${variable} is set`);
    }
    expect(await ada.run("access-tokens", "create", "x", "--role", "owner")).toMatchObject({
      exitCode: 2,
    });
    expect((await ada.run("access-tokens", "revoke", "ci2")).stderr).toContain("Did you mean ci?");
    await ada.run("access-tokens", "revoke", made.id);
    const env = { ...ada.environment, WINDLASS_TOKEN: made.access_token };
    const late = await windlass(["zones", "list"], { env });
    expect(late).toMatchObject({ exitCode: 1 });
    expect(late.stderr).toContain(
      `WINDLASS_TOKEN is not accepted by ${plane.url}: the access token is wrong or was revoked; create a new one. To create an access token where you are signed in: windlass access-tokens create`,
    );
  });

  test("creates and changes a cloud identity, and prints the trust policy of its role", async () => {
    await using ada = await userMachine(plane);
    const role = "arn:aws:iam::123456789012:role/deploy";
    const made = await ada.json<{
      external_id: string;
    }>("identities", "create", "prod", "--role", role);
    const principal = "arn:aws:iam::210987654321:role/runners";
    const policy = await ada.run("identities", "trust-policy", "prod", "--principal", principal);
    expect(JSON.parse(policy.stdout as string)).toMatchObject({
      Statement: expect.arrayContaining([
        expect.objectContaining({
          Principal: { AWS: principal },
          Condition: { StringEquals: { "sts:ExternalId": made.external_id } },
        }),
      ]) as unknown,
    });
    expect(await ada.json("identities", "update", "prod", "--role", `${role}2`)).toMatchObject({
      role_arn: `${role}2`,
      external_id: made.external_id,
    });
    await ada.user.configure({ name: "db" });
    await ada.run("configurations", "update", "db", "--identity", "prod");
    const kept = await ada.run("identities", "delete", "prod", "--yes");
    expect(kept).toMatchObject({ exitCode: 1 });
    expect(kept.stderr).toContain('"prod" is used by the configuration "db": choose another one');
    await ada.run("configurations", "update", "db", "--identity", "none");
    expect(await ada.run("identities", "delete", "prod", "--yes")).toMatchObject({ exitCode: 0 });
    expect(await ada.json("identities", "list")).toEqual([]);
    expect(await ada.run("identities", "create", "x")).toMatchObject({ exitCode: 2 });
    const wrong = await ada.run("identities", "create", "", "--role", "admin");
    expect(wrong).toMatchObject({ exitCode: 1, stdout: "" });
    expect(wrong.stderr).toMatch(
      /^windlass: Invalid input:\n {2}name must not be empty\n {2}role_arn must be the ARN of a role, such as arn:/,
    );
  });

  test("creates identities of each provider, and prints terraform that makes the cloud trust them", async () => {
    await using ada = await userMachine(plane);
    const role = "arn:aws:iam::123456789012:role/deploy";
    const uuid = "6f1c7b0e-3f1d-4c53-9d5e-0a4f3b2c1d00";
    const pool = "projects/1/locations/global/workloadIdentityPools/pool/providers/windlass";
    const kinds = {
      "aws-web-identity": ["--role", role, "--plan-role", `${role}-plan`, "--session-tags"],
      azure: ["--tenant-id", uuid, "--client-id", uuid, "--subject", "zone"],
      gcp: ["--workload-identity-provider", pool],
      vault: ["--address", "https://vault.example.com", "--role", "deploy", "--namespace", "team"],
    };
    for (const [provider, options] of Object.entries(kinds)) {
      const given = ["--provider", provider, ...options];
      const shown = await ada.run("identities", "create", provider, ...given);
      expect(shown.stdout).toMatch(/^audience +\S+$/m);
      const trust = await ada.run("identities", "trust-policy", provider);
      expect(trust).toMatchObject({ exitCode: 0 });
      expect(trust.stdout).toMatch(/^# Trust of the cloud identity [^]*\n}$/);
      const none = await ada.run("identities", "create", "x", "--provider", provider);
      expect(none).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/Missing --/) });
    }
    const changed = await ada.json<object>(
      "identities",
      "update",
      "vault",
      "--plan-role",
      "plan",
      "--namespace",
      "",
    );
    expect(changed).toMatchObject({ plan_role: "plan", namespace: null, role: "deploy" });
    expect(
      await ada.json("identities", "update", "aws-web-identity", "--no-session-tags"),
    ).toMatchObject({ session_tags: false });
    const listed = await ada.run("identities", "list");
    expect(listed.stdout).toMatch(/^vault +vault +deploy +/m);
    const ca = await ada.run("identities", "update", "vault", "--ca", "none.pem");
    expect(ca).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("none.pem") });
  });

  test("refuses to print a state to a terminal, and reports a missing state, version or job", async () => {
    await using ada = await userMachine(plane);
    await ada.user.configure({ name: "db" });
    const none = await ada.run("state", "download", "db");
    expect(none).toMatchObject({ exitCode: 1, stdout: "" });
    expect(none.stderr).toContain("There is no state yet");
    const versioned = ["configurations", "update", "db", "--engine-version"];
    expect(await ada.json(...versioned, "~> 1.11")).toMatchObject({ engine_version: "~> 1.11" });
    expect(await ada.json(...versioned, "")).toMatchObject({ engine_version: null });
    await ada.user.configure({ name: "own", backend: "own" });
    expect((await ada.run("state", "list", "own")).stderr).toContain("terraform state pull");
    expect((await ada.run("state", "versions", "own")).stderr).toContain("terraform state pull");
    const kept = await ada.run("state", "unlock", "own", "--yes");
    expect(kept.stderr).toContain("run terraform force-unlock in a directory");
    expect((await ada.run("state", "unlock", "db")).stderr).toContain("is not locked");
    expect((await ada.run("state", "versions", "db")).stderr).toContain("There is no state yet");
    const missing = async (...words: string[]): Promise<string> =>
      String((await ada.run(...words)).stderr);
    expect(await missing("state", "download", "db", "--serial", "9")).toContain(
      "There is no such state version. To see the versions: windlass state versions db",
    );
    expect(await missing("jobs", "show", "01900000-0000-7000-8000-000000000000")).toContain(
      "There is no such job. To see the jobs: windlass jobs list",
    );
    const unlocked = await ada.run("state", "unlock", "db");
    expect(unlocked).toMatchObject({ exitCode: 0, stderr: 'The state of "db" is not locked.' });
    await using terminal = openTerminal(["state", "download", "db"], ada.environment);
    expect(await terminal.exited).toBe(2);
    expect(terminal.screen()).toContain("A state may contain secrets. Write it to a file");
  });

  test("lists and ends logins, and lists the audit log", async () => {
    await using ada = await userMachine(plane);
    await ada.run("zones", "create", "north");
    const entries = await ada.json<object[]>(
      "audit",
      "list",
      "--action",
      "zone.create",
      "--limit",
      "1",
    );
    expect(entries).toMatchObject([{ target: { name: "north" } }]);
    const table = await ada.run("audit", "list", "--since", "2020-01-01");
    expect(table.stdout).toMatch(/zone\.create .*north/);
    expect(await ada.json("audit", "list", "--until", "2020-01-01")).toEqual([]);
    expect(await ada.run("audit", "list", "--since", "soon")).toMatchObject({ exitCode: 2 });
    expect((await ada.run("audit", "list", "--action", "zone.lose")).exitCode).toBe(1);
    const logins = await ada.json<{ id: string; current: boolean }[]>("logins", "list");
    const current = logins.find((login) => login.current);
    expect(await ada.run("logins", "delete", current?.id ?? "")).toMatchObject({ exitCode: 0 });
    expect((await ada.run("zones", "list")).exitCode).toBe(1);
  });

  test("refuses to list repositories of a code host that is not connected, with what to do", async () => {
    await using ada = await userMachine(plane);
    const { exitCode, stdout, stderr } = await ada.run("repositories", "list", "github");
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(`Connect it in the browser: ${plane.url}/settings`);
  });
});
