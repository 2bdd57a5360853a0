/** What the server at this address has proved, stored so that nothing else passes for it later. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readIfExists } from "../../common/files.ts";
import { ConfigError } from "../../common/settings/config-error.ts";
import { writeWhole } from "../machine/files.ts";

export interface ServerFacts {
  /** It sent `server_time`, which the published interface lacks: only genuine responses count. */
  readonly reportsTime: boolean;
  /** On plain http: it has proved that it knows this worker, so it always must (`proof.ts`). */
  readonly provesItself: boolean;
  /** By which it proves that also when it no longer knows the worker's token. */
  readonly proofKey: string | undefined;
}

export interface KnownServer extends ServerFacts {
  learn(facts: Partial<ServerFacts>): void;
}

interface SavedServer extends ServerFacts {
  readonly server: string;
}

interface Place {
  readonly workDir: string;
  readonly url: string;
}

const pathIn = (workDir: string): string => join(workDir, "server.json");

/** Returns what an earlier agent learnt of the server at this address. */
function readFacts({ workDir, url }: Place): ServerFacts {
  const path = pathIn(workDir);
  try {
    const saved = JSON.parse(readIfExists(path) ?? "{}") as Partial<ServerFacts & SavedServer>;
    const { reportsTime, provesItself, proofKey } = saved.server === url ? saved : {};
    return {
      reportsTime: reportsTime === true,
      provesItself: provesItself === true,
      proofKey: typeof proofKey === "string" ? proofKey : undefined,
    };
  } catch {
    throw new ConfigError(`${path} is damaged: remove it`);
  }
}

/** Returns what is known of this server, and keeps what is learnt. Throws `ConfigError`. */
export function openKnownServer({ workDir, url }: Place): KnownServer {
  let facts = readFacts({ workDir, url });
  let isSaved = true;
  return {
    get reportsTime() {
      return facts.reportsTime;
    },
    get provesItself() {
      return facts.provesItself;
    },
    get proofKey() {
      return facts.proofKey;
    },
    learn(learnt) {
      const before = facts;
      facts = { ...facts, ...learnt };
      if (isDeepStrictEqual(facts, before) && isSaved) return;
      const saved: SavedServer = { server: url, ...facts };
      const text = `${JSON.stringify(saved, null, 2)}\n`;
      try {
        writeWhole(pathIn(workDir), text, "durable");
        isSaved = true;
      } catch {
        // A full disk must not end the heartbeats: the next one tries again.
        isSaved = false;
      }
    },
  };
}
