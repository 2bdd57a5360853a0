/** The processes of `windlass demo` and `windlass dev`, and their directory. */
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { minute, second } from "../../common/units.ts";
import { demoEnvironment } from "../config.ts";
import { clean, CliError } from "../terminal/output.ts";

/** A Windlass process that writes its log to a file. */
export interface DemoProcess {
  readonly logFile: string;
  /** Returns the first value of this field in the JSON log. Throws if the process ends. */
  logged(field: string): Promise<string>;
}

export class DemoProcesses {
  readonly directory: string;
  /** Aborts when the demo must stop: on a signal, a closed stdout, or an unexpected exit. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #cleaner: ReturnType<typeof startCleaner>;
  readonly #environment: NodeJS.ProcessEnv;

  /** `directory` is kept; without it, a temporary one is made, which is removed at the end. */
  constructor({ directory, environment }: { directory?: string; environment: NodeJS.ProcessEnv }) {
    this.#environment = environment;
    this.directory = directory ?? mkdtempSync(join(tmpdir(), "windlass-"));
    mkdirSync(join(this.directory, "logs"), { recursive: true });
    // As root, jobs run as other users, which need access to their workspaces.
    chmodSync(this.directory, 0o711);
    this.signal = this.#stop.signal;
    this.#cleaner = startCleaner(this.directory, directory === undefined ? demoStop : keptStop);
    if (directory !== undefined) this.#tellCleaner("keep");
    const lost = () =>
      this.stop(new CliError("The cleanup process ended. Stop the server and the agent yourself."));
    void this.#cleaner.then(lost);
    this.#cleaner.stdin.on("error", lost);
  }

  /** Stops everything for this reason. The first reason wins. */
  stop(reason: Error): void {
    this.#stop.abort(reason);
  }

  /** Starts `windlass <words>` with these settings. Its early end stops everything. */
  start(title: string, words: readonly string[], settings: Record<string, string>): DemoProcess {
    const logFile = join(this.directory, "logs", `${words[0]}.log`);
    // For this start only. Another process that uses the directory keeps writing to its own.
    rmSync(logFile, { force: true });
    const log = openSync(logFile, "a", 0o600);
    // The type names the first descriptors only, and every one is passed on.
    const file = log as 3;
    const options = { ...this.#options(settings), stdio: ["ignore", file, file] } as const;
    const child = execa(process.execPath, windlass(words), options);
    closeSync(log);
    const { pid } = child;
    if (pid === undefined) throw new CliError(`Cannot start ${title}.`);
    this.#tellCleaner(`start ${pid}`);
    void child.then(({ exitCode, signal }) => {
      // Once the cleaner stops the processes, their end is no surprise, and the logs may be gone.
      if (!this.#cleaner.stdin.writable) return;
      this.#tellCleaner(`ended ${pid}`);
      const how = signal ?? `exit code ${exitCode}`;
      const lines = lastLines(logFile).map((line) => `\n  ${line}`);
      const log = `Its log ${logFile} ${lines.length === 0 ? "is empty." : "ends with:"}`;
      this.stop(new CliError(`Unexpected end of ${title} (${how}). ${log}${lines.join("")}`));
    });
    return { logFile, logged: (field) => this.#find(logFile, field) };
  }

  /** Runs `windlass <words>` to its end and returns its stdout. */
  async run(words: readonly string[], settings: Record<string, string>): Promise<string> {
    const options = {
      ...this.#options(settings),
      stdin: "ignore",
      cancelSignal: this.signal,
    } as const;
    const ended = await execa(process.execPath, windlass(words), options);
    this.signal.throwIfAborted();
    if (ended.failed) {
      const reason = ended.stderr.trim() || ended.shortMessage;
      throw new CliError(`windlass ${words.join(" ")} failed: ${reason}`);
    }
    return ended.stdout;
  }

  /** Stops every process and removes a temporary directory, except the logs with `keepLogs`. */
  async clear(options: { keepLogs: boolean }): Promise<void> {
    if (options.keepLogs) this.#tellCleaner("keep-logs");
    this.#cleaner.stdin.end();
    const { exitCode } = await this.#cleaner;
    if (exitCode !== 0) {
      throw new CliError(`The cleanup failed. Remove ${this.directory} yourself.`);
    }
  }

  #options(settings: Record<string, string>) {
    return { ...apart, cwd: this.directory, env: { ...this.#environment, ...settings } } as const;
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
    if (this.#cleaner.stdin.writable) this.#cleaner.stdin.write(`${line}\n`);
  }
}

/** In a session of its own, so that Ctrl-C at the terminal reaches only the command. */
const apart = { detached: true, extendEnv: false, reject: false } as const;

const windlass = (words: readonly string[]): string[] => [process.argv[1] ?? "", ...words];

/** How long processes may take to end after the second SIGTERM. A cancelled apply takes 10 minutes. */
const demoStop = 30 * second;
const keptStop = 15 * minute;

function startCleaner(directory: string, stopTimeout: number) {
  const cleaner = join(import.meta.dirname, `cleaner${extname(import.meta.filename)}`);
  return execa(process.execPath, [cleaner, directory, String(stopTimeout)], {
    ...apart,
    env: demoEnvironment(),
    stdio: ["pipe", "ignore", "inherit"],
  });
}

/** Returns the messages of the last lines of a log; of a crash, what Node printed. */
function lastLines(logFile: string): string[] {
  const lines = readFileSync(logFile, "utf8").split("\n");
  const written = lines.filter((line) => line.trim() !== "").slice(-shownLines);
  return written.map((line) => {
    const { msg, err } = fieldsOf(line);
    const { message } = Object(err) as { message?: unknown };
    const text = [msg, message].filter((one) => typeof one === "string").join(": ");
    return clean(text || line);
  });
}

const shownLines = 3;

/** Returns the fields of a log line; none if the line is incomplete or not JSON. */
function fieldsOf(line: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
