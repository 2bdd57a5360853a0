import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { scratch, until } from "../helpers/agent-process.ts";
import { TestBrowser } from "../helpers/providers.ts";
import { approve } from "../helpers/sign-in.ts";
import { root } from "../helpers/source-files.ts";
import { openProgram } from "../helpers/terminal.ts";
import { bin } from "../helpers/windlass.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

/** The shell blocks of a chapter. */
const blocks = (chapter: string): string[] =>
  [
    ...(readme.split(`## ${chapter}\n`)[1]?.split("\n## ")[0] ?? "").matchAll(/```sh\n(.*?)```/gs),
  ].map(([, block = ""]) => block);

/** Starts a control plane in the project's folder until the test ends, and returns its address. */
async function startServer(env: Record<string, string>): Promise<string> {
  const child = spawn(bin, ["server"], {
    cwd: root,
    env: { PATH: process.env["PATH"], WINDLASS_LOG_FORMAT: "json", WINDLASS_PORT: "0", ...env },
    stdio: ["ignore", "inherit", "pipe"],
  });
  let log = "";
  child.stderr.on("data", (data: Buffer) => (log += data.toString()));
  onTestFinished(async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  });
  return until(() => /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(log)?.[0]);
}

it("the README's commands to run it by hand lead to a deployment", async () => {
  const [server, signIn = "", runner = "", up = "", ...more] = blocks("Run it by hand");
  expect([server, more]).toEqual(["npm start\n", []]);
  const { path: directory, [Symbol.dispose]: remove } = scratch();
  onTestFinished(remove);
  const env = {
    WINDLASS_DATA_DIR: join(directory, "data"),
    WINDLASS_WORK_DIR: join(directory, "agent"),
    WINDLASS_CONFIG_DIR: join(directory, "client"),
    TMPDIR: directory,
    BROWSER: "true",
    PS1: "$ ",
  };
  const made = join(root, "samples/hello-cluster/.windlass");
  if (!existsSync(made)) onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  const url = await startServer(env);
  const atServer = (block: string): string => block.replaceAll("http://127.0.0.1:8080", url);
  const [printLink = "", login = ""] = signIn.split(/(?<=\n)/);

  await using second = openProgram(["sh", "-i"], env, root);
  await second.shows("$ ");
  second.type(atServer(printLink));
  const link = await until(() => /http\S+\/login\/link\/\S+/.exec(second.screen())?.[0]);
  const browser = new TestBrowser();
  await browser.visit(link);
  const cookie = [...(browser.jars.get(new URL(url).host) ?? [])].map((one) => one.join("="));
  second.type(atServer(login));
  const device = /device_code=([\w-]+)/.exec(await second.shows("The six characters"))?.[1];
  const headers = { cookie: cookie.join("; "), origin: url };
  const { verification_code } = await approve({ url }, { email: "", headers }, device);
  second.type(`${verification_code}\n`);
  await second.shows("as you@example.com");

  second.type(atServer(runner));
  await second.shows("ready for jobs");
  await using third = openProgram(["sh", "-i"], env, root);
  await third.shows("$ ");
  third.type(atServer(up));
  await third.shows("Deploy this plan? [y/N] ");
  third.type("y\n");
  await third.shows("\n  gitops_url        = https://git.example.test/platform/hello");
  await until(() => third.screen().endsWith("\n$ "));
  third.type("exit\n");
  expect(await third.exited).toBe(0);
  second.type("\u0003");
  await until(() => second.screen().endsWith("$ "));
  second.type("exit\n");
  await second.exited;
});
