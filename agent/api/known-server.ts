/**
 * What the server at the agent's address has shown of itself. Kept in the work directory, so that
 * after a restart nothing else at that address passes for it.
 */
import { join } from "node:path";
import { readIfExists } from "../../common/files.ts";
import { ConfigError } from "../../common/settings/config-error.ts";
import { writeWhole } from "../machine/files.ts";

export interface ServerFacts {
  /**
   * A heartbeat was answered with `server_time`, which the published interface does not have. From
   * then on, a response counts only if it is certainly the control plane's (`genuine.ts`).
   */
  readonly reportsTime: boolean;
}

export interface KnownServer extends ServerFacts {
  learn(fact: keyof ServerFacts): void;
}

interface Kept extends ServerFacts {
  readonly server: string;
}

interface Place {
  readonly workDir: string;
  readonly url: string;
}

const keptIn = (workDir: string): string => join(workDir, "server.json");

/** Returns what an earlier agent learnt of the server at this address. */
function readFacts({ workDir, url }: Place): ServerFacts {
  const path = keptIn(workDir);
  try {
    const kept = JSON.parse(readIfExists(path) ?? "{}") as Partial<ServerFacts & Kept>;
    return { reportsTime: kept.server === url && kept.reportsTime === true };
  } catch {
    throw new ConfigError(`${path} is damaged: remove it`);
  }
}

/**
 * Returns what is known of the server at this address, and keeps what is learnt. Throws
 * `ConfigError` if the file is damaged.
 */
export function openKnownServer({ workDir, url }: Place): KnownServer {
  const facts = { ...readFacts({ workDir, url }) };
  let isKept = true;
  return {
    get reportsTime() {
      return facts.reportsTime;
    },
    learn(fact) {
      if (facts[fact] && isKept) return;
      facts[fact] = true;
      const kept: Kept = { server: url, ...facts };
      const text = `${JSON.stringify(kept, null, 2)}\n`;
      try {
        writeWhole(keptIn(workDir), text, "durable");
        isKept = true;
      } catch {
        // A full disk must not end the heartbeats: the next one tries again.
        isKept = false;
      }
    },
  };
}
