/** The processes of the demo and their temporary directory. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { demoEnvironment } from "../config.ts";
import { CliError } from "../terminal/output.ts";

/** A Windlass process that writes its log to a file. */
export interface DemoProcess {
  readonly logFile: string;
  /**
   * Waits for this field in the JSON log and returns its first value. Throws if the process ends.
   */
  logged(field: string): Promise<string>;
}

export class DemoProcesses {
  readonly directory: string;
  /** Aborts when the demo must stop: on a signal, a closed stdout, or an unexpected exit. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #cleaner: ChildProcess;

  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), "windlass-demo-"));
    // As root, jobs run as other users, which need access to their workspaces.
    chmodSync(this.directory, 0o711);
    this.signal = this.#stop.signal;
    mkdirSync(join(this.directory, "logs"));
    const cleaner = join(import.meta.dirname, `cleaner${extname(import.meta.filename)}`);
    // In its own session, so that Ctrl-C at the terminal reaches only the demo.
    this.#cleaner = spawn(process.execPath, [cleaner, this.directory], {
      stdio: ["pipe", "ignore", "inherit"],
      detached: true,
      env: demoEnvironment(),
    });
    const lost = () =>
      this.stop(
        new CliError("The cleanup process of the demo ended. Stop the demo's processes yourself."),
      );
    this.#cleaner.once("exit", lost);
    this.#cleaner.stdin?.on("error", lost);
  }

  /** Stops the demo with this reason. The first reason wins. */
  stop(reason: Error): void {
    this.#stop.abort(reason);
  }

  /** Starts `windlass <words>` with these settings. The demo fails if the process ends early. */
  start(title: string, words: readonly string[], settings: Record<string, string>): DemoProcess {
    const logFile = join(this.directory, "logs", `${words[0]}.log`);
    const log = openSync(logFile, "a", 0o600);
    const child = this.#spawn(words, settings, ["ignore", log, log]);
    closeSync(log);
    const { pid } = child;
    if (pid === undefined) throw new CliError(`Cannot start ${title}.`);
    this.#tellCleaner(`start ${pid}`);
    child.once("exit", (code, signal) => {
      this.#tellCleaner(`ended ${pid}`);
      this.stop(
        new CliError(
          `Unexpected end of ${title} (${signal ?? `exit code ${code}`}). See its log: ${logFile}`,
        ),
      );
    });
    return { logFile, logged: (field) => this.#find(logFile, field) };
  }

  /** Runs `windlass <words>` to its end and returns its stdout. */
  async run(words: readonly string[], settings: Record<string, string>): Promise<string> {
    const child = this.#spawn(words, settings, ["ignore", "pipe", "pipe"]);
    const output = { stdout: "", stderr: "" };
    child.stdout?.on("data", (data: Buffer) => (output.stdout += data.toString()));
    child.stderr?.on("data", (data: Buffer) => (output.stderr += data.toString()));
    const [code] = (await once(child, "close", { signal: this.signal })) as [number | null];
    if (code !== 0) {
      throw new CliError(`windlass ${words.join(" ")} failed: ${output.stderr.trim()}`);
    }
    return output.stdout;
  }

  /** Stops every process and removes the directory, except the logs with `keepLogs`. */
  async clear(options: { keepLogs: boolean }): Promise<void> {
    if (options.keepLogs) this.#tellCleaner("keep-logs");
    const ended = this.#cleaner.exitCode === null ? once(this.#cleaner, "exit") : undefined;
    this.#cleaner.stdin?.end();
    await ended;
    if (this.#cleaner.exitCode !== 0) {
      throw new CliError(`The cleanup failed. Remove ${this.directory} yourself.`);
    }
  }

  #spawn(
    words: readonly string[],
    settings: Record<string, string>,
    stdio: ("ignore" | "pipe" | number)[],
  ): ChildProcess {
    const [, entry = ""] = process.argv;
    return spawn(process.execPath, [entry, ...words], {
      stdio,
      detached: true,
      cwd: this.directory,
      env: { ...demoEnvironment(), ...settings },
    });
  }

  async #find(logFile: string, field: string): Promise<string> {
    for (;;) {
      for (const line of readFileSync(logFile, "utf8").split("\n")) {
        const value = fieldsOf(line)[field];
        if (typeof value === "string") return value;
      }
      await sleep(20, undefined, { signal: this.signal });
    }
  }

  #tellCleaner(line: string): void {
    if (this.#cleaner.stdin?.writable) this.#cleaner.stdin.write(`${line}\n`);
  }
}

/** Returns the fields of a log line; none if the line is incomplete or not JSON. */
function fieldsOf(line: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
