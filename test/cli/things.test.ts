/** Workers, tokens, identities, state, logins, repositories and audit: each verb against a real server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import type { StateVersion } from "../../protocol/state-versions.ts";
import type { Worker, WorkerIdentity } from "../../protocol/workers.ts";
import { inlineSnapshot } from "../helpers/fixtures.ts";
import { ask, startPlane, type Plane } from "../helpers/plane.ts";
import { someone } from "../helpers/someone.ts";
import { openTerminal } from "../helpers/terminal.ts";

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

/** Whether a worker's token opens its own page. */
const statusOf = async ({ worker_id, worker_token }: WorkerIdentity): Promise<number> => {
  const headers = { "x-worker-id": worker_id, "x-worker-token": worker_token };
  return (await ask(plane, "GET", `/api/workers/${worker_id}`, { headers })).status;
};

describe.concurrent("from the command line", { timeout: 90_000 }, () => {
  test("a worker is made, drained, given a new token and removed; its token is data and nothing else", async () => {
    await using ada = await someone(plane);
    const first = (await ada.json(
      "workers",
      "create",
      "runner-1",
      "--label",
      "eu",
      "--label",
      "gpu",
    )) as WorkerIdentity;
    expect(Object.keys(first).toSorted()).toEqual(["worker_id", "worker_token"]);
    expect(await statusOf(first)).toBe(200);
    const shown = await ada.run("workers", "show", "runner-1");
    expect(shown.stdout).toMatch(/^labels +eu, gpu$/m);
    expect(shown.stdout).not.toContain(first.worker_token);
    expect(await ada.json("workers", "drain", "runner-1")).toMatchObject({ status: "DRAINING" });
    expect(await ada.json("workers", "undrain", "runner-1")).toMatchObject({
      status: "REGISTERED",
    });
    const second = (await ada.json(
      "workers",
      "rotate-token",
      "runner-1",
      "--yes",
    )) as WorkerIdentity;
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
    const people = await ada.run("workers", "create", "runner-2");
    expect(people.stdout).toMatch(/^worker_token +wlw_\S+$/m);
    expect(people.stderr).toContain("windlass agent install --url");
    expect(people.stderr).not.toContain("wlw_");
    expect(await ada.run("workers", "delete", "runner-1")).toMatchObject({ exitCode: 2 });
    expect(await ada.run("workers", "delete", "runner-1", "--yes")).toMatchObject({ exitCode: 0 });
    const left = (await ada.json("workers", "list")) as Worker[];
    expect(left.map(({ name }) => name)).toEqual(["runner-2"]);
    const table = await ada.run("workers", "list");
    expect(table.stdout).toMatch(/^runner-2 +REGISTERED/m);
  });

  test("a registration token is made for as many and as long as asked", async () => {
    await using ada = await someone(plane);
    const made = (await ada.json("tokens", "create", "--uses", "3", "--expires", "10")) as {
      uses_left: number;
      expires_at: string;
    };
    expect(made.uses_left).toBe(3);
    expect(Date.parse(made.expires_at) - Date.now()).toBeLessThan(601_000);
    expect(await ada.run("tokens", "create", "--uses", "x")).toMatchObject({ exitCode: 2 });
    expect((await ada.run("tokens", "create")).stderr).toContain("--registration-token-file -");
  });

  test("a cloud identity is made and changed, and says what its role must trust", async () => {
    await using ada = await someone(plane);
    const role = "arn:aws:iam::123456789012:role/deploy";
    const made = (await ada.json("identities", "create", "prod", "--role", role)) as {
      external_id: string;
    };
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
    await ada.user.configure({ name: "db", source: { type: "inline", files: { "main.tf": "" } } });
    await ada.run("configurations", "update", "db", "--identity", "prod");
    const kept = await ada.run("identities", "delete", "prod", "--yes");
    expect(kept).toMatchObject({ exitCode: 1 });
    await ada.run("configurations", "update", "db", "--identity", "none");
    expect(await ada.run("identities", "delete", "prod", "--yes")).toMatchObject({ exitCode: 0 });
    expect(await ada.json("identities", "list")).toEqual([]);
    expect(await ada.run("identities", "create", "x")).toMatchObject({ exitCode: 2 });
    const wrong = await ada.run("identities", "create", "", "--role", "admin");
    expect(wrong).toMatchObject({ exitCode: 1, stdout: "" });
    expect(wrong.stderr).toMatch(
      /^windlass: this is not accepted:\n {2}name is empty\n {2}role_arn must match pattern/,
    );
  });

  test("a state is listed, downloaded and gone back to", async () => {
    await using ada = await someone(plane, { agent: true });
    const variables = { cluster_name: { value: "prod" } };
    await ada.user.configure({ name: "prod", ...inlineSnapshot("success-cluster", { variables }) });
    expect((await ada.run("state", "download", "prod")).stderr).toContain("there is no state yet");
    const deployed = (await ada.json("jobs", "deploy", "prod", "--wait")) as Job;
    const [newest] = (await ada.json("state", "versions", "prod")) as StateVersion[];
    expect(newest).toMatchObject({ job_id: deployed.id });
    const { stdout } = await ada.run("state", "download", "prod");
    expect(JSON.parse(stdout as string)).toMatchObject({ serial: newest?.serial });
    const serial = String(newest?.serial);
    expect(await ada.run("state", "rollback", "prod", "--serial", serial)).toMatchObject({
      exitCode: 2,
    });
    expect(await ada.json("state", "rollback", "prod", "--serial", serial, "--yes")).toMatchObject({
      serial: Number(serial) + 1,
      job_id: null,
    });
    await using terminal = openTerminal(["state", "download", "prod"], ada.environment);
    expect(await terminal.exited).toBe(2);
    expect(terminal.screen()).toContain("it may hold secrets: send it to a file");
  });

  test("logins are listed and ended, and the audit says who did what", async () => {
    await using ada = await someone(plane);
    await ada.run("zones", "create", "north");
    const entries = (await ada.json(
      "audit",
      "list",
      "--action",
      "zone.create",
      "--limit",
      "1",
    )) as object[];
    expect(entries).toMatchObject([{ target: { name: "north" } }]);
    const table = await ada.run("audit", "list", "--since", "2020-01-01");
    expect(table.stdout).toMatch(/zone\.create .*north/);
    expect(await ada.json("audit", "list", "--until", "2020-01-01")).toEqual([]);
    expect(await ada.run("audit", "list", "--since", "soon")).toMatchObject({ exitCode: 2 });
    expect((await ada.run("audit", "list", "--action", "zone.lose")).exitCode).toBe(1);
    const logins = (await ada.json("logins", "list")) as { id: string; current: boolean }[];
    const current = logins.find((login) => login.current);
    expect(await ada.run("logins", "delete", current?.id ?? "")).toMatchObject({ exitCode: 0 });
    expect((await ada.run("zones", "list")).exitCode).toBe(1);
  });

  test("repositories of a code host that is not connected are refused with what to do", async () => {
    await using ada = await someone(plane);
    const { exitCode, stdout, stderr } = await ada.run("repositories", "list", "github");
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(`sign in with it in the browser: ${plane.url}/login`);
  });
});
