/**
 * A first deployment from the sign-in to the outputs, as the user's terminal shows it, for
 * docs/up.md and its test.
 */
import { cpSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Job, LogChunk } from "../../../protocol/jobs.ts";
import { scratch, startAgent, until } from "../agent/agent-process.ts";
import type { Plane } from "../plane/plane.ts";
import { approve, openPerson } from "../people/sign-in.ts";
import { root } from "../project/source-files.ts";
import { openProgram } from "../machine/terminal.ts";
import { windlass } from "./windlass.ts";

export interface UpSession {
  /** The final content of the screen. */
  readonly transcript: string;
  /** The lines of it that terraform wrote. */
  readonly terraform: ReadonlySet<string>;
}

/** Signs in, starts a runner and brings `samples/hello-cluster` up, in one shell. */
export async function recordUp(plane: Plane): Promise<UpSession> {
  using place = scratch();
  const env = { WINDLASS_CONFIG_DIR: join(place.path, "client"), HOME: place.path };
  cpSync(join(root, "samples/hello-cluster"), join(place.path, "hello-cluster"), {
    recursive: true,
  });
  const browser = await openPerson(plane, "ada@example.com");
  const path = `${join(root, "bin")}:${process.env["PATH"]}`;
  await using shell = openProgram(["sh", "-i"], { ...env, PATH: path, PS1: "$ " }, place.path);
  await shell.shows("$ ");
  shell.type(`windlass login --no-browser --server ${plane.url}\n`);
  const device = /device_code=([\w-]+)/.exec(await shell.shows("The six characters"))?.[1];
  shell.type(`${(await approve(plane, browser, device)).verification_code}\n`);
  await shell.shows("Signed in to");

  const json = async (...words: string[]): Promise<unknown> =>
    JSON.parse((await windlass([...words, "--json"], { env })).stdout as string);
  const { registration_token } = (await json("tokens", "create")) as Record<string, string>;
  await using runner = startAgent({
    WINDLASS_URL: plane.url,
    WINDLASS_WORK_DIR: join(place.path, "work"),
    WINDLASS_REGISTRATION_TOKEN: registration_token ?? "",
    WINDLASS_WORKER_NAME: "runner",
  });
  await until(() => runner.log().includes("ready for jobs"));

  shell.type("windlass up hello-cluster\n");
  await shell.shows("Deploy this plan? [y/N] ");
  shell.type("y\n");
  await shell.shows("\n  gitops_url        = ");
  await until(() => shell.screen().endsWith("\n$ "));
  shell.type("exit\n");
  await shell.exited;

  const terraform = new Set<string>();
  for (const { id } of (await json("jobs", "list")) as Job[]) {
    const { stdout } = await windlass(["jobs", "logs", id, "--json"], { env });
    const chunks = String(stdout)
      .split("\n")
      .map((line) => JSON.parse(line) as LogChunk);
    const own = chunks.filter(({ stream_type }) => stream_type !== "SYSTEM");
    const text = own.map(({ log_chunk }) => log_chunk).join("");
    for (const line of stripVTControlCharacters(text).split("\n")) terraform.add(line.trimEnd());
  }
  const transcript = rendered(shell.raw())
    .replaceAll(plane.url, "http://127.0.0.1:8080")
    .replaceAll(new URL(plane.url).host, "127.0.0.1:8080")
    .replaceAll(`on ${hostname()},`, "on this-machine,");
  return { transcript: transcript.slice(0, transcript.lastIndexOf("$ exit")), terraform };
}

/** Returns the final lines, without text that was erased. */
const rendered = (raw: string): string =>
  raw
    .replaceAll("\r\n", "\n")
    .split("\n")
    // eslint-disable-next-line no-control-regex -- the sequences that erase a line
    .map((line) => stripVTControlCharacters(line.split(/\u001b\[(?:K|0J)/).at(-1) ?? ""))
    .map((line) => line.replaceAll("\r", "").trimEnd())
    .join("\n");
