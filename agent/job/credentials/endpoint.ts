/**
 * The endpoint from which a job's terraform reads its credentials. Its commands keep the address,
 * which the listener process holds across restarts of the agent. After a restart of the listener
 * another job may have had the port and read the password: the address gives nothing any more, and
 * the next commands get another.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isAnyRunning } from "../terraform/process.ts";
import { loopback, type EndpointAddress } from "./endpoint-address.ts";
import { listenerOf, type HandedOut, type ListenedJob, type Listener } from "./listener.ts";

/** Until a port that is in use, or a listener that has just ended, is tried again: milliseconds. */
const retryEvery = 200;
const openTries = 3;

export interface EndpointOptions {
  readonly job: string;
  readonly workDir: string;
  /** The directory of the job's commands. */
  readonly runs: string;
  readonly session: HandedOut;
  /** Aborted when this agent no longer needs the endpoint. */
  readonly over: AbortSignal;
  /** Called with each new address before anything can use it. */
  onAddress(address: EndpointAddress): void;
  onTrouble(text: string): void;
}

export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #job: ListenedJob;
  #listener: Listener | undefined;
  #opening: Promise<void> | undefined;
  #address: EndpointAddress | undefined;
  #isHeld = true;
  /** Ports that were free for a moment: no request there gets anything. */
  readonly #abandoned = new Set<number>();

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#job = {
      id: options.job,
      session: options.session,
      onTrouble: (text) => options.onTrouble(text),
      onLost: (name) => {
        options.onTrouble(`${name} has ended`);
        void this.#openUntilOver();
      },
    };
  }

  open(): Promise<void> {
    this.#opening ??= this.#tryToOpen().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /**
   * `isHeld`: by the listener, not by an agent before version 0.2. A command that runs must not
   * fail because this does, so it goes on in the background.
   */
  async resume(former: EndpointAddress, isHeld: boolean): Promise<void> {
    this.#address = former;
    this.#isHeld = isHeld;
    try {
      await this.open();
    } catch (error) {
      if (!isAnyRunning(this.#options.runs)) throw error;
      void this.#openUntilOver();
    }
  }

  /** The session has new credentials. */
  renewed(): void {
    this.#listener?.give(this.#job);
  }

  /** Resolves when requests get what the session has now. */
  async settle(): Promise<void> {
    await this.#listener?.settle();
  }

  async #tryToOpen(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#openOnce();
      } catch (error) {
        if (tries === openTries || this.#options.over.aborted) throw error;
        await sleep(retryEvery);
      }
    }
  }

  async #openOnce(): Promise<void> {
    const { workDir, over, runs, onAddress, onTrouble } = this.#options;
    const listener = await listenerOf(workDir);
    listener.add(this.#job);
    const release = (): void => listener.release(this.#job);
    if (over.aborted) return release();
    over.addEventListener("abort", release, { signal: listener.over });
    this.#listener = listener;
    const address = this.#address;
    if (address && !this.#isHeld) {
      this.#isHeld = true;
      return void this.#hold(listener, address.port, address.token);
    }
    if (address && (await listener.adopt(this.#job, address))) return listener.give(this.#job);
    if (address) this.#abandoned.add(address.port);
    this.#address = undefined;
    if (address && isAnyRunning(runs)) onTrouble(abandonedText);
    for (const port of this.#abandoned) void this.#hold(listener, port);
    const token = randomBytes(32).toString("base64url");
    const port = await listener.open(this.#job, { runs, token });
    over.throwIfAborted();
    onAddress({ port, token });
    this.#address = { port, token };
    listener.give(this.#job);
  }

  async #openUntilOver(): Promise<void> {
    const { over, onTrouble } = this.#options;
    for (let tries = 1; !over.aborted; tries++) {
      try {
        await this.open();
        if (!this.#listener?.over.aborted) return;
      } catch (error) {
        if (tries === 1 && !over.aborted)
          onTrouble(`${(error as Error).message}; trying again. Terraform gets no credentials`);
        await sleep(retryEvery, undefined, { signal: over }).catch(() => {});
      }
    }
  }

  /** Takes this port, which a running command asks, as soon as it is free. */
  async #hold(listener: Listener, port: number, token?: string): Promise<void> {
    const { over, runs, onAddress, onTrouble } = this.#options;
    const where = `${loopback}:${port}, from which terraform reads its credentials,`;
    const more = token === undefined ? {} : { token };
    for (let tries = 1; !over.aborted && !listener.over.aborted; tries++) {
      try {
        await listener.open(this.#job, { runs, port, ...more });
        if (tries > 1) onTrouble(`${where} is free again`);
        if (token !== undefined) onAddress({ port, token });
        return listener.give(this.#job);
      } catch (error) {
        if (tries === 1 && !listener.over.aborted && isAnyRunning(runs))
          onTrouble(
            `${where} cannot be opened, trying again: ${(error as Error).message}. ` +
              "Until then, another process of this machine may respond there",
          );
        await sleep(retryEvery, undefined, { signal: over }).catch(() => {});
      }
    }
  }
}

const abandonedText =
  "The address from which the running command reads its credentials was free for a moment: " +
  "it gets no more of them, because another process may have read its password. The next commands get another address";
