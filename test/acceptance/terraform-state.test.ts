/** Real terraform with a managed state, without the agent. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { JobRow } from "../../control-plane/domain/job.ts";
import { testEngine, testProgram } from "../helpers/agent/engines.ts";
import { lossyProxy, type LossyProxy } from "../helpers/network/lossy-proxy.ts";
import { addOwner, addSpec, type Owner } from "../helpers/plane/rows.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  jobCredential,
  setJob,
  stateHeaders,
  type TestWorker,
  readRows,
} from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const configuration = `
terraform {
  backend "http" {}
}
resource "terraform_data" "a" {
  input = "stored-by-the-control-plane"
}
output "cluster_name" {
  value = terraform_data.a.output
}
`;

const { plane } = planeForFile();
let owner: Owner;
// It sends no heartbeats, so it would lose its jobs if it served the whole file.
let worker: TestWorker;
let proxy: LossyProxy;
const directory = folderForFile();
beforeAll(async () => {
  owner = await addOwner(plane.context.store);
  worker = await addTestWorker(plane, owner);
  proxy = await lossyProxy(plane.url);
  await writeFile(join(directory, "main.tf"), configuration);
  // Once for all tests: init records no address and no credentials of the backend.
  await terraform(await heldJob(), ["init"]);
});
afterAll(() => proxy.close());

let job: JobRow;
beforeEach(async () => {
  worker = await addTestWorker(plane, owner);
  job = await heldJob();
  proxy.seen.length = 0;
});

const heldJob = async (spec?: string | null): Promise<JobRow> =>
  addHeldJob(plane, owner, worker, {
    job_type: "DEPLOY",
    spec_id: spec ?? (await addSpec(plane.context.store, owner)),
  });

async function terraform(by: JobRow, args: string[], server = plane.url) {
  const { username, password } = jobCredential(plane, by);
  const address = `${server}/api/state/${by.spec_id}`;
  const [command = "", ...rest] = args;
  const { exitCode, stdout, stderr } = await execa(
    testProgram,
    [`-chdir=${directory}`, command, ...rest],
    {
      reject: false,
      stdin: "ignore",
      extendEnv: false,
      env: {
        PATH: process.env["PATH"],
        TMPDIR: process.env["TMPDIR"],
        HOME: directory,
        CHECKPOINT_DISABLE: "1",
        TF_INPUT: "0",
        TF_HTTP_ADDRESS: address,
        TF_HTTP_LOCK_ADDRESS: address,
        TF_HTTP_UNLOCK_ADDRESS: address,
        TF_HTTP_USERNAME: username,
        TF_HTTP_PASSWORD: password,
        TF_HTTP_RETRY_MAX: "3",
        TF_HTTP_RETRY_WAIT_MIN: "1",
      },
    },
  );
  return { exitCode, stdout, text: plain(`${stdout}\n${stderr}`) };
}

/** Removes colours, frames and line breaks, as terraform wraps its errors. */
const plain = (text: string) =>
  // oxlint-disable-next-line no-control-regex -- terraform's colours
  text.replace(/\x1b\[[0-9;]*m/g, "").replace(/[│╷╵\s]+/g, " ");

const apply = (by: JobRow, args: string[] = [], server?: string) =>
  terraform(by, ["apply", "-auto-approve", "-no-color", ...args], server);

const serials = async () =>
  (await readRows(plane, "state_versions", { spec_id: job.spec_id ?? "" })).map(
    ({ serial, resources }) => [serial, resources],
  );

const lockRow = async () =>
  (await readRows(plane, "state_locks", { spec_id: job.spec_id ?? "" }))[0];

test("a job reads and destroys what an earlier job deployed, and the earlier job's credentials are refused", async () => {
  expect((await apply(job)).exitCode).toBe(0);
  expect(await lockRow()).toBeUndefined();
  await setJob(plane, job, { released_at: Date.now() });
  const next = await heldJob(job.spec_id);
  const pulled = await terraform(next, ["state", "pull"]);
  expect(JSON.parse(pulled.stdout)).toMatchObject({ resources: [{ type: "terraform_data" }] });
  expect((await terraform(next, ["output", "-raw", "cluster_name"])).stdout).toBe(
    "stored-by-the-control-plane",
  );
  expect((await terraform(next, ["destroy", "-auto-approve"])).text).toContain("1 destroyed");
  expect((await serials()).at(-1)?.[1]).toBe(0);
  const late = await terraform(job, ["state", "pull"]);
  expect([late.exitCode, late.text]).toEqual([1, expect.stringContaining("requires auth")]);
});

test("terraform fails with the ID of another holder's lock, or waits for it with -lock-timeout", async () => {
  const headers = stateHeaders(plane, job);
  const body = JSON.stringify({ ID: "held-by-another", Who: "them@there" });
  const path = `/api/state/${job.spec_id}`;
  expect((await ask(plane, "LOCK", path, { headers, body })).status).toBe(200);
  const refused = await apply(job);
  expect(refused.exitCode).toBe(1);
  expect(refused.text).toContain("Error acquiring the state lock");
  expect(refused.text).toContain("held-by-another");

  const waiting = apply(job, ["-lock-timeout=20s"], proxy.url);
  await expect.poll(() => proxy.seen).toContain("LOCK");
  expect((await ask(plane, "UNLOCK", path, { headers, body })).status).toBe(200);
  expect((await waiting).exitCode).toBe(0);
});

test("force-unlock is refused if the engine does not send the ID of the lock", async () => {
  await ask(plane, "LOCK", `/api/state/${job.spec_id}`, {
    headers: stateHeaders(plane, job),
    body: JSON.stringify({ ID: "held-by-another" }),
  });
  const unlock = (id: string) => terraform(job, ["force-unlock", "-force", id]);
  expect((await unlock("any-id")).text).toContain("Failed to unlock state");
  expect(await lockRow()).toMatchObject({ lock_id: "held-by-another" });
  // OpenTofu sends the ID that the user has typed, terraform none.
  if (testEngine === "opentofu") {
    expect(await unlock("held-by-another")).toMatchObject({ exitCode: 0 });
    return;
  }
  const forced = await unlock("held-by-another");
  expect(forced.exitCode).toBe(1);
  expect(forced.text).toContain("Failed to unlock state: Unexpected HTTP response code 400");
  expect(await lockRow()).toMatchObject({ lock_id: "held-by-another" });
});

test.for(["LOCK", "POST", "UNLOCK"])(
  "an apply succeeds when its %s request or the response is lost",
  async (method) => {
    proxy.loseAnswer(method);
    expect(await apply(job, [], proxy.url)).toMatchObject({ exitCode: 0 });
    expect(proxy.seen.filter((seen) => seen === method)).toHaveLength(2);
    expect(await serials()).toEqual([[1, 1]]);
    expect(await lockRow()).toBeUndefined();

    proxy.seen.length = 0;
    proxy.loseRequest(method);
    expect(await apply(job, ["-replace=terraform_data.a"], proxy.url)).toMatchObject({
      exitCode: 0,
    });
    expect(proxy.seen.filter((seen) => seen === method)).toHaveLength(2);
    expect((await serials()).length).toBeGreaterThan(1);
    expect(await lockRow()).toBeUndefined();
  },
);
