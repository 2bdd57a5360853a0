/** Who the agent is to the control plane: from the settings, from the work directory, or registered now. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { calledEndpoints as endpoints } from "../protocol/endpoint-paths.ts";
import { call } from "../protocol/transport.ts";
import { backoff } from "./backoff.ts";
import { ConfigError } from "./config-reader.ts";
import type { AgentConfig } from "./config.ts";
import { sortFailure } from "./failures.ts";
import { readIfExists, writeWhole } from "./files.ts";

export interface Identity {
  readonly workerId: string;
  readonly workerToken: string;
}

/** Throws `ConfigError` when there is no way to be somebody. */
export async function identify(
  config: AgentConfig,
  isolation: string,
  log: Logger,
  signal: AbortSignal,
): Promise<Identity> {
  const known = knownIdentity(config);
  if (known) return known;
  const path = keptIn(config.workDir);
  if (config.registrationToken === undefined) {
    const kept = readKept(path);
    throw new ConfigError(
      kept
        ? `WINDLASS_URL is ${config.url}, but ${path} belongs to ${kept.server}: set WINDLASS_REGISTRATION_TOKEN to register there`
        : "WINDLASS_REGISTRATION_TOKEN is not set: it registers the agent once (or set WINDLASS_WORKER_ID and WINDLASS_WORKER_TOKEN)",
    );
  }
  const identity = await register(config, isolation, log, signal);
  writeWhole(path, `${JSON.stringify({ server: config.url, ...identity }, null, 2)}\n`, "durable");
  log.info({ worker_id: identity.workerId, name: config.workerName }, "registered");
  return identity;
}

/** Who the agent is already, by its settings or by an earlier registration at this server. Throws `ConfigError` when the file is damaged. */
export function knownIdentity({
  workerId,
  workerToken,
  workDir,
  url,
}: AgentConfig): Identity | undefined {
  if (workerId !== undefined && workerToken !== undefined) return { workerId, workerToken };
  const kept = readKept(keptIn(workDir));
  return kept?.server === url ? kept : undefined;
}

const keptIn = (workDir: string): string => join(workDir, "identity.json");

/**
 * Names this installation, so that the server can tell a restart from a second agent with the same identity. The host is part of
 * it: a copied disk on another machine is a second agent.
 */
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
  config: AgentConfig,
  isolation: string,
  log: Logger,
  signal: AbortSignal,
): Promise<Identity> {
  const { workerName, labels } = config;
  for (let tries = 1; ; tries++) {
    try {
      const answer = await call(
        config.url,
        endpoints.registerWorker,
        { body: { name: workerName, mode: "self-hosted", labels: [...labels], isolation } },
        { headers: { "x-registration-token": config.registrationToken ?? "" }, signal },
      );
      if (!answer) throw new Error("the server answered nothing to the registration");
      return { workerId: answer.worker_id, workerToken: answer.worker_token };
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = sortFailure(error);
      const why = (error as Error).message;
      if (failure.kind === "unauthorized") {
        // The answer to an earlier try may be lost, and with it the identity that was made.
        const hint = tries > 1 ? "; an earlier try may have used it up: make a new one" : "";
        throw new ConfigError(`WINDLASS_REGISTRATION_TOKEN was refused: ${why}${hint}`);
      }
      if (failure.kind === "give up")
        throw new Error(`the registration was refused: ${why}`, { cause: error });
      log.warn({ error: why, tries }, `${config.url} cannot be reached; trying again`);
      await sleep(backoff(tries, Math.random(), failure.after), undefined, { signal });
    }
  }
}

interface Kept extends Identity {
  readonly server: string;
}

function readKept(path: string): Kept | undefined {
  const text = readIfExists(path);
  if (text === undefined) return undefined;
  try {
    const { server, workerId, workerToken } = JSON.parse(text) as Partial<Kept>;
    if (server && workerId && workerToken) return { server, workerId, workerToken };
  } catch {
    // Falls through: not JSON is as bad as a missing field.
  }
  throw new ConfigError(`${path} is damaged: remove it and register again`);
}
