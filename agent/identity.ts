/**
 * The agent's identity: from the settings, the work directory, or a registration now. A stored
 * token is sent only to the server that issued it, which proves itself at a new address.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { call, ProblemError, type CallOptions } from "../protocol/transport.ts";
import { backoff } from "../common/backoff.ts";
import { retry } from "../common/retry.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import type { AgentConfig } from "./config.ts";
import { responseLimit } from "./api/calls.ts";
import { describe } from "./api/describe.ts";
import { sortFailure } from "./api/failures.ts";
import { verifyProof } from "./api/proof.ts";
import { readIfExists } from "../common/files.ts";
import { writeWhole } from "./machine/files.ts";
import { dispatcherOf } from "../common/http-proxies.ts";
import { plainConnectorFor } from "./machine/network.ts";

export interface Identity {
  readonly workerId: string;
  readonly workerToken: string;
}

/** Throws `ConfigError` if the agent has no identity and cannot register. */
export async function identify(
  config: AgentConfig,
  isolation: string,
  log: Logger,
  signal: AbortSignal,
): Promise<Identity> {
  const known = knownIdentity(config);
  if (known) return known;
  const dispatcher = dispatcherOf(config.network, plainConnectorFor(config.url));
  try {
    return await obtainIdentity(config, isolation, log, { signal, dispatcher });
  } finally {
    await dispatcher.destroy();
  }
}

type Calling = Required<Pick<CallOptions, "signal" | "dispatcher">>;

async function obtainIdentity(
  config: AgentConfig,
  isolation: string,
  log: Logger,
  calling: Calling,
): Promise<Identity> {
  const path = pathIn(config.workDir);
  const save = (identity: Identity): void => {
    const { workerId, workerToken } = identity;
    const saved: SavedIdentity = { server: config.url, workerId, workerToken };
    writeWhole(path, `${JSON.stringify(saved, null, 2)}\n`, "durable");
  };
  const elsewhere = savedIdentity(config);
  const { url } = config;
  const { signal } = calling;
  const isProved = (identity: Identity): Promise<boolean> =>
    repeat({ url, log, signal }, () => isProvedAt(url, identity, calling));
  if (elsewhere && (await isProved(elsewhere))) {
    save(elsewhere);
    log.info(
      { server: config.url, before: elsewhere.server },
      "the control plane has a new address",
    );
    return elsewhere;
  }
  if (config.registrationToken === undefined) {
    throw new ConfigError(
      elsewhere
        ? `the agent is registered at ${elsewhere.server} (${path}), and ${config.url} does not prove to be the same control plane: set WINDLASS_URL back, or set WINDLASS_REGISTRATION_TOKEN to register there`
        : "WINDLASS_REGISTRATION_TOKEN is not set and this agent is not registered: set it, or set WINDLASS_WORKER_ID and WINDLASS_WORKER_TOKEN",
    );
  }
  const identity = await register(config, isolation, log, calling);
  save(identity);
  log.info({ worker_id: identity.workerId, name: config.workerName }, "registered");
  return identity;
}

/** Returns the identity of the settings or of a registration at this address. */
export function knownIdentity({
  workerId,
  workerToken,
  workDir,
  url,
}: AgentConfig): Identity | undefined {
  if (workerId !== undefined && workerToken !== undefined) return { workerId, workerToken };
  const saved = savedIdentity({ workDir });
  return saved?.server === url ? saved : undefined;
}

/** Returns the stored identity and the server that issued it. Throws `ConfigError`. */
export const savedIdentity = ({
  workDir,
}: Pick<AgentConfig, "workDir">): SavedIdentity | undefined => readSaved(pathIn(workDir));

/** Whether this server proves that it knows the worker, before it is sent the token. */
export async function isProvedAt(
  url: string,
  identity: Identity,
  calling: Calling,
): Promise<boolean> {
  const nonce = randomUUID();
  try {
    const body = { worker_id: identity.workerId, nonce };
    const answer = await call(url, "proveWorker", { body }, calling);
    return verifyProof(identity, nonce, answer ?? {}).knowsToken;
  } catch (error) {
    // A server without this endpoint refuses the call.
    if (error instanceof ProblemError && sortFailure(error).kind !== "retry") return false;
    throw error;
  }
}

const pathIn = (workDir: string): string => join(workDir, "identity.json");

/** Distinguishes a restart from a second agent, such as one of a disk copied to another host. */
export function instanceId(workDir: string): string {
  const path = join(workDir, "instance-id");
  let id = readIfExists(path)?.trim();
  if (!id) {
    id = randomUUID();
    writeWhole(path, `${id}\n`, "durable");
  }
  return `${id}@${hostname()}`.slice(0, 255);
}

async function register(
  { url, workerName: name, labels, registrationToken = "" }: AgentConfig,
  isolation: string,
  log: Logger,
  calling: Calling,
): Promise<Identity> {
  const { signal } = calling;
  const body = { name, mode: "self-hosted", labels: [...labels], isolation };
  const headers = { "x-registration-token": registrationToken };
  let tries = 0;
  try {
    const answer = await repeat({ url, log, signal }, () => {
      tries++;
      return call(url, "registerWorker", { body }, { headers, limit: responseLimit, ...calling });
    });
    if (!answer) throw new Error("the response to the registration has no identity");
    return { workerId: answer.worker_id, workerToken: answer.worker_token };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    if (error.status !== 401)
      throw new Error(`the registration was refused: ${error.message}`, { cause: error });
    // The response to an earlier attempt may have been lost, and the identity with it.
    const hint = tries > 1 ? "; an earlier attempt may have used it up: create a new token" : "";
    throw new ConfigError(`WINDLASS_REGISTRATION_TOKEN was refused: ${error.message}${hint}`);
  }
}

interface Repetition {
  readonly url: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Repeats a call until there is a response or a refusal. */
const repeat = <T>({ url, log, signal }: Repetition, once: () => Promise<T>): Promise<T> =>
  retry(once, {
    signal,
    next: (error, tries) => {
      const failure = sortFailure(error);
      if (failure.kind !== "retry") return undefined;
      log.warn({ error: describe(error), tries }, `${url} cannot be reached; trying again`);
      return backoff(tries, Math.random(), failure.after);
    },
  });

interface SavedIdentity extends Identity {
  readonly server: string;
}

function readSaved(path: string): SavedIdentity | undefined {
  const text = readIfExists(path);
  if (text === undefined) return undefined;
  try {
    const { server, workerId, workerToken } = JSON.parse(text) as Partial<SavedIdentity>;
    if (server && workerId && workerToken) return { server, workerId, workerToken };
  } catch {
    // Falls through: a file that is not JSON is treated like one with a missing field.
  }
  throw new ConfigError(`${path} is damaged: remove it and register again`);
}
