/** The console with a real server, an OAuth server, an agent, terraform and client. */
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { scratch, startAgent } from "../helpers/agent/agent-process.ts";
import { withBrowser } from "../helpers/console/browser.ts";
import { callsOf, type Calls } from "../helpers/plane/calls.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { startPlainProvider, type FakeProvider } from "../helpers/people/providers.ts";
import { newLink, spawnServer, type ServerProcess } from "../helpers/plane/server-process.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const directory = folderForFile();
let github: FakeProvider;
let server: ServerProcess;
let url: string;
let start: () => ServerProcess;
beforeAll(async () => {
  const port = await freePort();
  github = await startPlainProvider("github");
  github.person.email = "ada@github.example";
  start = () =>
    spawnServer(directory, {
      WINDLASS_PORT: String(port),
      GITHUB_CLIENT_ID: "client",
      GITHUB_CLIENT_SECRET: "client-secret",
      GITHUB_BASE_URL: github.url,
      WINDLASS_SIGN_IN_ALLOW: "*",
    });
  server = start();
  url = await server.ready;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await github.close();
});

describe("in a browser", () => {
  const visitor = withBrowser();

  /** A page of a user who signed in with the operator's link. */
  async function signedIn() {
    const visit = await visitor.open(url);
    await visit.page.goto(url + (await newLink(directory)));
    return visit;
  }

  test("a user signs in with GitHub, is redirected to the requested page, and signs out", async () => {
    const { page, complaints } = await visitor.open(url, github.url);
    await page.goto(`${url}/settings`);
    await page.getByRole("link", { name: "Continue with GitHub" }).click();
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    expect(page.url()).toBe(`${url}/settings`);
    await page.locator(".who", { hasText: "ada@github.example" }).waitFor({ state: "attached" });
    await page.locator(".account summary").click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("a user approves a client with the code on the page, and revokes its login", async () => {
    const { page, complaints } = await signedIn();
    using place = scratch();
    const env = { WINDLASS_CONFIG_DIR: place.path };
    const login = windlass(["login", "--server", url], { env, stdin: "pipe" });
    onTestFinished(() => void login.kill());
    let output = "";
    login.stderr?.on("data", (text: Buffer) => (output += text.toString()));
    await expect.poll(() => output).toContain("The six characters");
    await page.goto(/http\S+device_code=\S+/.exec(output)?.[0] ?? "");
    await page.getByText("asks to act as ada@example.com").waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    const code = (await page.locator(".code").textContent()) ?? "";
    expect(code).toMatch(/^[A-Z2-9]{6}$/);
    await page.getByText(/The code expires in\s(9|10)\smin/).waitFor();
    login.stdin?.end(`${code}\n`);
    expect(await login).toMatchObject({ exitCode: 0 });
    await page.getByRole("heading", { name: "The client is signed in" }).waitFor();
    expect(await windlass(["whoami"], { env })).toMatchObject({ exitCode: 0 });

    await page.getByRole("link", { name: "Settings" }).first().click();
    await page.getByRole("cell", { name: "Command-line client" }).waitFor();
    await page.getByRole("button", { name: "Revoke" }).first().click();
    await page.getByRole("cell", { name: "Command-line client" }).waitFor({ state: "detached" });
    expect(await windlass(["whoami"], { env })).toMatchObject({ exitCode: 1 });
    expect(complaints).toEqual([]);
  });

  test("a user adds a worker, watches a plan and its deployment through a restart of the server, and cancels a job", async () => {
    const { page, complaints } = await signedIn();
    const person = await callsAs(page);
    const zone = await person.call("createZone", { body: { name: "zone" } });
    const configure = async (name: string, script: string) => {
      const body = { name, zone_id: zone.id, source: sourceRunning(script) } as const;
      return (await person.call("createConfiguration", { body })).id;
    };

    await page.goto(`${url}/workers`);
    await page.getByRole("button", { name: "Add a worker" }).click();
    const token = (await page.locator(".secret").textContent())?.trim() ?? "";
    await page.getByRole("link", { name: "To the workers" }).click();
    await page.getByText("No worker yet").waitFor();
    using place = scratch();
    await using agent = startAgent({
      WINDLASS_URL: url,
      WINDLASS_WORK_DIR: join(place.path, "work"),
      WINDLASS_REGISTRATION_TOKEN: token,
      WINDLASS_WORKER_NAME: "the agent",
    });
    await page.getByRole("link", { name: "the agent" }).waitFor();
    await page.getByText("Online").waitFor();

    const configuration_id = await configure("talk", printing(150));
    const { id } = await person.call("createJob", {
      body: { job_type: "PLAN", configuration_id },
    });
    await page.goto(`${url}/jobs/${id}#log`);
    await page.getByText("This is the whole log.").waitFor();
    expect(await page.locator(".lines").innerText()).toContain(
      "terraform_data.talk will be created",
    );
    await page.getByRole("link", { name: /^Changes/ }).click();
    expect(await page.locator(".plan-counts").innerText()).toMatch(/1\s+to create/);
    await page.getByRole("button", { name: "Deploy this plan" }).click();

    await page.getByRole("heading", { name: "DEPLOY of talk" }).waitFor();
    await page.getByText("line 30 of 150").waitFor();
    server.kill("SIGKILL");
    await page.getByText("The server does not respond. Trying again; nothing is lost.").waitFor();
    await server.exited;
    server = start();
    await server.ready;
    await page.getByText("This is the whole log.").waitFor();
    await page.locator("#job .badge", { hasText: "Succeeded" }).waitFor();
    const shown = await page.evaluate<string[]>(
      `[...document.querySelectorAll(".block")].flatMap((block) => block.classList.contains("asleep") ? block.textContent.split("\\n") : [...block.children].map((line) => line.textContent))`,
    );
    const numbers = shown.flatMap((line) => /: line (\d+) of 150/.exec(line)?.[1] ?? []);
    expect(numbers.map(Number)).toEqual(Array.from({ length: 150 }, (_, n) => n + 1));
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Raw log" }).click();
    const raw = await text(await (await download).createReadStream());
    expect(`${shown.join("\n")}\n`).toBe(stripVTControlCharacters(raw).replaceAll("\r", ""));

    const lasting = await configure("last", printing(3000));
    const running = await person.call("createJob", {
      body: { job_type: "DEPLOY", configuration_id: lasting },
    });
    await page.goto(`${url}/jobs/${running.id}`);
    await page.getByText("line 5 of 3000").waitFor();
    await page.getByText("Cancel…").click();
    await page.getByRole("button", { name: "Cancel: stop terraform" }).click();
    await page.locator("#job .badge", { hasText: "Cancelled" }).waitFor();
    await page.getByText("This is the whole log.").waitFor();
    await page.getByRole("button", { name: "Run it again" }).waitFor();
    const ended = await person.call("getJob", { params: { id: running.id } });
    expect(ended).toMatchObject({ status: "CANCELLED", log_complete: true });
    expect(ended.released_at).not.toBeNull();
    // The browser's console has the failed requests of the time when the server was away.
    expect(complaints.filter((text) => !text.startsWith("Failed to load resource: net::"))).toEqual(
      [],
    );
    agent.kill("SIGTERM");
    await agent.exited;
  });
});

/** The API with the session of the page. */
async function callsAs(page: Page): Promise<Calls> {
  const cookies = await page.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
  return callsOf({ url }, { cookie, origin: url });
}

/** A resource that runs a script while it is created. */
const sourceRunning = (script: string) =>
  ({
    type: "inline",
    files: {
      "main.tf": `resource "terraform_data" "talk" {
  provisioner "local-exec" {
    quiet   = true
    command = ${JSON.stringify(script)}
  }
}
`,
    },
  }) as const;

const printing = (lines: number): string =>
  `i=0; while [ $i -lt ${lines} ]; do i=$((i + 1)); echo "line $i of ${lines}"; sleep 0.03; done`;
