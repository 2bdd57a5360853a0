/** Where the demo plays: a temporary directory, the processes started in it, and their end. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { demoEnvironment } from "../config.ts";
import { Failure } from "../terminal/output.ts";

/** A Windlass process in a role, writing its log to a file. */
export interface Player {
  readonly logFile: string;
  /** The first value of this field in its log, which is JSON; fails when the process ends without it. */
  logged(field: string): Promise<string>;
}

export class Stage {
  readonly directory: string;
  /** Aborts when the demo has to stop: a signal, a closed stdout, a process that ended by itself. The reason says why. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #keeper: ChildProcess;

  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), "windlass-demo-"));
    // Where the demo is root, jobs run as other users, who must get to their workspaces.
    chmodSync(this.directory, 0o711);
    this.signal = this.#stop.signal;
    mkdirSync(join(this.directory, "logs"));
    const keeper = join(import.meta.dirname, `cleaner${extname(import.meta.filename)}`);
    // A session of its own: a Ctrl-C at the terminal is for the demo alone, which then cleans up in order.
    this.#keeper = spawn(process.execPath, [keeper, this.directory], {
      stdio: ["pipe", "ignore", "inherit"],
      detached: true,
      env: demoEnvironment(),
    });
    const lost = () =>
      this.stop(new Failure("the demo's cleaner ended; stop its processes by hand"));
    this.#keeper.once("exit", lost);
    this.#keeper.stdin?.on("error", lost);
  }

  /** Ends what is under way with this reason. The first reason wins. */
  stop(reason: Error): void {
    this.#stop.abort(reason);
  }

  /** Starts `windlass <words>` with these settings. When it ends before the demo does, the demo fails. */
  start(title: string, words: readonly string[], settings: Record<string, string>): Player {
    const logFile = join(this.directory, "logs", `${words[0]}.log`);
    const log = openSync(logFile, "a", 0o600);
    const child = this.#spawn(words, settings, ["ignore", log, log]);
    closeSync(log);
    const { pid } = child;
    if (pid === undefined) throw new Failure(`${title} could not be started`);
    this.#tellKeeper(`start ${pid}`);
    child.once("exit", (code, signal) => {
      this.#tellKeeper(`ended ${pid}`);
      this.stop(
        new Failure(
          `${title} ended by itself (${signal ?? `exit code ${code}`}); its log: ${logFile}`,
        ),
      );
    });
    return { logFile, logged: (field) => this.#find(logFile, field) };
  }

  /** Runs `windlass <words>` to its end and answers what it printed. */
  async run(words: readonly string[], settings: Record<string, string>): Promise<string> {
    const child = this.#spawn(words, settings, ["ignore", "pipe", "pipe"]);
    const output = { stdout: "", stderr: "" };
    child.stdout?.on("data", (data: Buffer) => (output.stdout += data.toString()));
    child.stderr?.on("data", (data: Buffer) => (output.stderr += data.toString()));
    const [code] = (await once(child, "close", { signal: this.signal })) as [number | null];
    if (code !== 0) {
      throw new Failure(`windlass ${words.join(" ")} failed: ${output.stderr.trim()}`);
    }
    return output.stdout;
  }

  /** Stops every process, removes the directory (but for the logs, when they are worth reading), and waits until it is done. */
  async clear(options: { keepLogs: boolean }): Promise<void> {
    if (options.keepLogs) this.#tellKeeper("keep-logs");
    const ended = this.#keeper.exitCode === null ? once(this.#keeper, "exit") : undefined;
    this.#keeper.stdin?.end();
    await ended;
    if (this.#keeper.exitCode !== 0) {
      throw new Failure(`something of the demo may be left in ${this.directory}`);
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

  #tellKeeper(line: string): void {
    if (this.#keeper.stdin?.writable) this.#keeper.stdin.write(`${line}\n`);
  }
}

/** The fields of a line of a log; none of a line that is not whole, or that Node wrote. */
function fieldsOf(line: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
