/** The content of the pages of workers and jobs, without scripts. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { scratch } from "../../helpers/agent/agent-process.ts";
import { callsOf } from "../../helpers/plane/calls.ts";
import { addTestWorker, ask, setJob } from "../../helpers/plane/plane.ts";
import { dom, words } from "../../helpers/console/forms.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import {
  openSampleUser,
  sampleSettings,
  type SampleUser,
} from "../../helpers/plane/sample-data.ts";
import { bearer } from "../../helpers/people/sign-in.ts";
import { root } from "../../helpers/project/source-files.ts";
import { windlass } from "../../helpers/cli/windlass.ts";

const { plane } = planeForFile(sampleSettings);
let fixture: SampleUser;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});

/** The visible text of a page. */
async function read(path: string, method = "GET"): Promise<string> {
  const { status, text } = await ask(plane, method, path, { headers: fixture.headers });
  expect(status).toBe(200);
  return words(dom(text).querySelector("main")!);
}

const run = async (name: string): Promise<string> => {
  return fixture.begin({ job_type: "DEPLOY", configuration_id: await fixture.configure(name) });
};

describe("the pages of workers", () => {
  test("say that a worker is behind only if a higher version is released", async () => {
    const { headers, id } = await addTestWorker(plane, fixture.owner);
    const beat = async (version: string) => {
      await callsOf(plane, headers).call("heartbeat", { query: {}, body: { version } });
      return read(`/workers/${id}`);
    };
    expect(await beat("1.0.0")).not.toContain("is available");
    const pipeline = callsOf(plane, bearer(sampleSettings.RELEASE_API_SECRET));
    await pipeline.call("publishRelease", { body: { version: "1.10.0" } });
    expect(await beat("1.9.0")).toContain("It runs version 1.9.0; version 1.10.0 is available.");
    expect(await read("/workers")).toContain("1.9.0 behind 1.10.0");
    for (const version of ["1.10.0", "1.11.0-rc.1", "dev", "1.9"])
      expect(await beat(version)).not.toContain("is available");
  });

  test("list the jobs that the worker runs and has run, and no others", async () => {
    const own = await run("ran on it");
    await fixture.end(own, "SUCCESS");
    const other = await addTestWorker(plane, fixture.owner);
    expect(await read(`/workers/${fixture.worker}`)).toContain("ran on it Succeeded");
    expect(await read(`/workers/${other.id}`)).toContain(
      "It has run no job that is in this space.",
    );
  });
});

describe("the commands that install an agent", () => {
  test("for systemd read the token and write the agent's settings", async () => {
    const page = await read("/workers/register", "POST");
    const token = /expires [^.]+\.\s*(\S+)/.exec(page)?.[1] ?? "";
    const [, line = ""] = /sudo windlass (agent install \S+ \S+ \S+ -)/.exec(page) ?? [];
    using place = scratch();
    const words = [...line.split(" "), "--root", place.path];
    const installed = await windlass(words, { input: `${token}\n`, stdin: "pipe" });
    expect(installed).toMatchObject({ exitCode: 0 });
    const settings = readFileSync(join(place.path, "etc/windlass/agent.env"), "utf8");
    expect(settings).toContain(`WINDLASS_URL=${plane.url}`);
    const written = execFileSync("grep", ["-rl", token, place.path], { encoding: "utf8" });
    expect(written).not.toBe("");
  });

  test("for a container match the image and name existing settings", async () => {
    const page = await read("/workers/register", "POST");
    const [, command = ""] = /(docker run .* windlass agent)\b/.exec(page) ?? [];
    const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
    const [, mount = ""] = /-v [\w-]+:(\S+)/.exec(command) ?? [];
    expect(dockerfile).toContain(`WINDLASS_WORK_DIR=${mount}`);
    const settings = readFileSync(join(root, "docs/settings.md"), "utf8");
    const named = [...command.matchAll(/-e (\w+)/g)].map(([, name = ""]) => name);
    expect(named).toEqual(["WINDLASS_URL", "WINDLASS_WORKER_NAME", "WINDLASS_REGISTRATION_TOKEN"]);
    for (const name of named) expect(settings).toContain(`\`${name}\``);
    expect(command).toContain(`WINDLASS_URL=${plane.url} `);
    // One command for the shell, so that a pasted second line is not read as the token.
    expect(page).toMatch(/printf 'Token: ' && read -rs (\w+) && export \1 && docker run/);
  });
});

describe("the page of a running job", () => {
  test("shows the current step, and when each step began", async () => {
    const id = await run("on its way");
    expect(await read("/")).toMatch(/on its way\D+[\d.]+ s\s+worker/);
    await fixture.log(id, "Windlass agent 0.1.0\nterraform 1.14.1: show\n", "SYSTEM");
    await fixture.step(id, "init", "started");
    await fixture.log(id, "Initializing...\n");
    await fixture.step(id, "init", "ended", 67);
    await fixture.step(id, "apply", "started", 67);
    await fixture.log(id, "\u001b[1mnull.a: Creating...\u001b[0m\nnull.a: <b>half a li");
    expect(await read("/")).toContain("apply null.a: <b>half a li worker");
    const page = await read(`/jobs/${id}`);
    expect(page).toMatch(
      /Started [^a-z]* runs for [\d.]+ s init [\d: UTC-]+ 1 min 7 s apply [\d: UTC-]+ for [\d.]+ s Ended not yet/,
    );
    await fixture.end(id, "SUCCESS");
    expect(await read(`/jobs/${id}`)).toMatch(/apply [\d: UTC-]+ [\d.]+ s Succeeded/);
    // The step had no end, but an ended job runs no step.
    expect(await read("/")).toContain("no job is running");
  });

  test("refreshes until the job is released", async () => {
    const id = await run("live");
    const page = async () => {
      const { body } = await fixture.page(`/jobs/${id}`);
      return body.toString();
    };
    expect(await page()).toContain('data-refresh="2"');
    await setJob(plane, { id } as never, { status: "CANCELLED", ended_at: Date.now() });
    expect(await page()).toContain("Its runner has not released it yet");
    expect(await page()).toContain('data-refresh="2"');
    await setJob(plane, { id } as never, { released_at: Date.now() });
    expect(await page()).not.toContain("data-refresh");
  });
});

test("the settings page lists the connected accounts and offers the other providers", async () => {
  expect(await read("/settings")).toContain("With a link that the operator of this server creates");
  const created_at = Date.now();
  await plane.context.store.write((tx) =>
    tx.sql
      .insertInto("accounts")
      .values({
        provider: "gitlab",
        host: "gitlab.com",
        subject: "4711",
        user_id: fixture.owner.id,
        email: "ada@gitlab.example",
        access_token: "sealed",
        refresh_token: null,
        token_expires_at: null,
        created_at,
        signed_in_at: created_at,
      })
      .execute(),
  );
  const page = await read("/settings");
  expect(page).toMatch(/GitLab ada@gitlab\.example \d{4}-.* Connect GitHub Connect Bitbucket/);
  expect(page).not.toContain("Connect GitLab");
});
