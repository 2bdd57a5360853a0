/**
 * The agent's side of its listener process, which holds the ports of all its jobs: starts it for
 * the first job, finds it again after a restart, and notices when it no longer responds.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { connect, type Socket } from "node:net";
import { dirname, extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIfExists } from "../../../common/files.ts";
import { isAlive, type ProcessIdentity } from "../../machine/process-identity.ts";
import type { EndpointAddress } from "./endpoint-address.ts";
import {
  hear,
  identityName,
  listenerFolder,
  socketName,
  tell,
  type Handout,
  type Order,
  type Reply,
  type Word,
} from "./listener-messages.ts";

/** In milliseconds. */
const startLimit = 30_000;
const replyLimit = 10_000;
const pingEvery = 10_000;
/** It has 15 MiB of its own; the rest it shares with the agent. */
const flags = ["--max-semi-space-size=1", "--max-old-space-size=48", "--no-node-snapshot"];

/** Where the listener gets what it hands out. */
export interface HandedOut {
  readonly valid: Handout | undefined;
  current(): Promise<unknown>;
}

/** A job whose ports the listener holds. */
export interface ListenedJob {
  readonly id: string;
  readonly session: HandedOut;
  onTrouble(text: string): void;
  /** The listener has ended. The ports are free. */
  onLost(process: string): void;
}

/** An order without its number. */
type Asked<D extends Order["do"]> = Omit<Extract<Order, { do: D }>, "n" | "do">;

export class Listener {
  readonly #socket: Socket;
  readonly #folder: string;
  readonly #jobs = new Map<string, ListenedJob>();
  readonly #asked = new Map<number, PromiseWithResolvers<Reply>>();
  readonly #over = new AbortController();
  #numbers = 0;

  constructor(socket: Socket, folder: string) {
    this.#socket = socket;
    this.#folder = folder;
    socket.unref().on("error", () => {});
    socket.once("close", () => this.#closed());
    hear(socket, (message) => {
      const word = message as Word;
      if ("renew" in word) void this.#renew(word.renew);
      else this.#asked.get(word.n)?.resolve(word);
    });
    void this.#watch();
  }

  /** Resolves when the listener is no longer connected. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Whether it responds. A listener that was just killed may still accept a connection. */
  async isReady(): Promise<boolean> {
    try {
      await this.#ask("ping", {});
      return true;
    } catch {
      this.#over.abort();
      this.#socket.destroy();
      return false;
    }
  }

  /** Resolves when it has taken what it was told, or does not respond. */
  async settle(): Promise<void> {
    await this.#ask("ping", {}).catch(() => undefined);
  }

  add(job: ListenedJob): void {
    this.#jobs.set(job.id, job);
  }

  /** The job is over for this agent. After the last one, the listener may end. */
  release(job: ListenedJob): void {
    if (this.#jobs.get(job.id) !== job) return;
    this.#jobs.delete(job.id);
    tell(this.#socket, { do: "release", job: job.id });
    if (this.#jobs.size > 0) return;
    this.#over.abort();
    this.#socket.end();
  }

  /** Hands the job's present credentials to the listener. */
  give({ id, session: { valid } }: ListenedJob): void {
    if (valid) tell(this.#socket, { do: "give", job: id, credentials: valid });
  }

  /** Returns whether the listener has held this address without a gap, and holds it on. */
  async adopt(job: ListenedJob, { port, token }: EndpointAddress): Promise<boolean> {
    return (await this.#ask("adopt", { job: job.id, port, token })).value === true;
  }

  /** Opens a port and returns it. Throws if it is in use. */
  async open(job: ListenedJob, options: Omit<Asked<"open">, "job">): Promise<number> {
    return Number((await this.#ask("open", { job: job.id, ...options })).value);
  }

  async #ask<D extends "adopt" | "open" | "ping">(what: D, more: Asked<D>): Promise<Reply> {
    const n = ++this.#numbers;
    const asked = Promise.withResolvers<Reply>();
    this.#asked.set(n, asked);
    const refuse = (why: string): void => asked.reject(new Error(`${this.#name()} ${why}`));
    const timer = setTimeout(() => {
      this.#wake();
      refuse(silent);
    }, replyLimit).unref();
    try {
      if (this.over.aborted) refuse(ended);
      tell(this.#socket, { do: what, n, ...more });
      const reply = await asked.promise;
      if (reply.error !== undefined) throw new Error(reply.error);
      return reply;
    } finally {
      clearTimeout(timer);
      this.#asked.delete(n);
    }
  }

  async #renew(id: string): Promise<void> {
    const job = this.#jobs.get(id);
    if (!job) return;
    try {
      await job.session.current();
      if (!job.session.valid) throw new Error("the last ones have expired");
      this.give(job);
    } catch (error) {
      tell(this.#socket, { do: "fail", job: id, message: (error as Error).message });
    }
  }

  /** Notices a listener that is stopped or hangs. Its ports are taken, so nothing gets a password. */
  async #watch(): Promise<void> {
    for (let isSilent = false; ;) {
      const options = { ref: false, signal: this.over };
      await sleep(pingEvery, undefined, options).catch(() => undefined);
      if (this.over.aborted) return;
      const wasSilent: boolean = isSilent;
      isSilent = await this.#ask("ping", {}).then(
        () => false,
        () => true,
      );
      if (this.over.aborted) return;
      if (isSilent === wasSilent) continue;
      const text = isSilent ? `${silent}: terraform gets no credentials` : "responds again";
      for (const job of this.#jobs.values()) job.onTrouble(`${this.#name()} ${text}`);
    }
  }

  /** Continues a process that was stopped (SIGSTOP). */
  #wake(): void {
    const identity = this.#identity();
    if (identity && isAlive(identity)) process.kill(identity.pid, "SIGCONT");
  }

  #closed(): void {
    const name = this.#name();
    const isExpected = this.over.aborted;
    this.#over.abort();
    for (const { reject } of this.#asked.values()) reject(new Error(`${name} ${ended}`));
    if (!isExpected) for (const job of this.#jobs.values()) job.onLost(name);
  }

  #name(): string {
    return `the process that holds the address of the credentials (pid ${this.#identity()?.pid})`;
  }

  #identity(): ProcessIdentity | undefined {
    const text = readIfExists(join(this.#folder, identityName));
    return text === undefined ? undefined : (JSON.parse(text) as ProcessIdentity);
  }
}

const silent = "does not respond";
const ended = "has ended";

/** By work directory. Only one agent uses it. */
const listeners = new Map<string, Promise<Listener>>();

/** Returns the listener of this work directory. Starts it if there is none. */
export function listenerOf(workDir: string): Promise<Listener> {
  const known = listeners.get(workDir);
  if (known) return known;
  const found = openListener(listenerFolder(workDir));
  listeners.set(workDir, found);
  const forget = (): void => {
    if (listeners.get(workDir) === found) listeners.delete(workDir);
  };
  found.then(({ over }) => over.addEventListener("abort", forget), forget);
  return found;
}

async function openListener(folder: string): Promise<Listener> {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  const deadline = performance.now() + startLimit;
  for (let started: ReturnType<typeof start> | undefined; ;) {
    const socket = await reach(folder);
    const listener = socket && new Listener(socket, folder);
    if (await listener?.isReady()) return listener as Listener;
    if (!socket) started ??= start(folder);
    if (started?.failure !== undefined || performance.now() > deadline)
      throw new Error(
        `the process that holds the address of the credentials cannot be ${started ? `started: ${started.failure ?? "it took too long"}` : "reached: it does not respond"}`,
      );
    await sleep(10);
  }
}

/** Undefined if there is none. A socket's path has 107 bytes: it begins at the directory. */
async function reach(folder: string): Promise<Socket | undefined> {
  const directory = openSync(folder, "r");
  const start = process.platform === "linux" ? `/proc/self/fd/${directory}` : folder;
  const socket = connect(join(start, socketName));
  try {
    await once(socket, "connect");
    return socket;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ECONNREFUSED") return undefined;
    throw error;
  } finally {
    closeSync(directory);
  }
}

/** In a session of its own, so that it outlives this agent; without its files and environment. */
function start(folder: string): { readonly failure: string | undefined } {
  const state: { failure: string | undefined } = { failure: undefined };
  const cache = getCompileCacheDir();
  const entry = join(import.meta.dirname, `listener-process${extname(import.meta.filename)}`);
  const child = spawn(process.execPath, [...flags, entry], {
    cwd: folder,
    env: { MALLOC_ARENA_MAX: "1", ...(cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {}) },
    detached: true,
    stdio: "ignore",
  });
  child.once("error", ({ message }) => (state.failure = message));
  child.once("exit", (code, signal) => (state.failure = `it ended with ${signal ?? code}`));
  child.unref();
  return state;
}
