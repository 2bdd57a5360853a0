import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { root } from "../helpers/source-files.ts";
import { bin } from "../helpers/windlass.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

/** The shell blocks of a chapter, as a reader would paste them. */
const blocks = (chapter: string): string[] =>
  [
    ...(readme.split(`## ${chapter}\n`)[1]?.split("\n## ")[0] ?? "").matchAll(/```sh\n(.*?)```/gs),
  ].map(([, block = ""]) => block);

/** Runs a program in the folder of the project until the test ends; answers what it has printed so far. */
function start(file: string, words: string[], env: NodeJS.ProcessEnv): () => string {
  const child = spawn(file, words, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-(child.pid ?? 0), "SIGTERM");
    await ended;
  });
  return () => output;
}

it("what the README says to run by hand starts a control plane, signs in and starts a runner", async () => {
  const [server = "", runner = ""] = blocks("Run it by hand");
  expect(server).toBe("npm start\n");
  const directory = mkdtempSync(join(tmpdir(), "readme-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const env = {
    WINDLASS_DATA_DIR: join(directory, "data"),
    WINDLASS_WORK_DIR: join(directory, "agent"),
    WINDLASS_LOG_FORMAT: "json",
  };
  const log = start(bin, ["server"], { ...env, WINDLASS_PORT: "0" });
  const address = /http:\/\/127\.0\.0\.1:[1-9]\d*/;
  await vi.waitFor(() => expect(log()).toMatch(address), { timeout: 20_000, interval: 20 });
  const url = address.exec(log())?.[0];
  const output = start("sh", ["-euc", runner], { ...env, WINDLASS_URL: url });
  const registered = /"name":"my-runner".*"registered"/;
  await vi.waitFor(() => expect(output()).toMatch(registered), { timeout: 30_000, interval: 50 });
});

it("every file that the README names is there", () => {
  const named = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
