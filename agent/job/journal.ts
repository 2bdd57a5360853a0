/**
 * What a job has done: a JSON line for each act, before or after it. A restarted agent reads it and
 * runs the same steps again; recovery needs nothing else.
 */
import {
  closeSync,
  existsSync,
  fsync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { ClaimedJob, ReportStatus } from "../../protocol/executions.ts";
import { syncDirectory } from "../machine/files.ts";
import type { EndpointAddress } from "./credentials/endpoint-address.ts";
import type { Phase } from "./credentials/held-identity.ts";
import type { Facts } from "./facts.ts";
import type { Level } from "./isolation/isolation.ts";

/** Why a running job must stop. */
export type StopReason =
  | "cancelled"
  | "timed out"
  | "agent stopped"
  /** The server refuses the worker's token. */
  | "revoked"
  | "not the holder";

export type Entry =
  | { readonly at: "claimed"; readonly claim: ClaimedJob }
  /** How the job is isolated, and as which user: the same after every restart. */
  | { readonly at: "placed"; readonly level: Level; readonly user: number | null }
  /**
   * PROCESSING is acknowledged. `boot` and `uptime` (seconds) measure the time despite clock
   * changes.
   */
  | { readonly at: "started"; readonly boot: string | null; readonly uptime: number }
  /** A new agent process continues the job. */
  | { readonly at: "adopted" }
  /** That agent process has run for a while since. */
  | { readonly at: "steady" }
  | { readonly at: "begun"; readonly step: string }
  /** Before a command starts. After a reboot, one without an exit code may or may not have run. */
  | {
      readonly at: "run";
      readonly run: string;
      readonly logged: boolean;
      readonly boot: string | null;
    }
  /** Before each SIGINT: a restarted agent continues there, and knows of a second interrupt. */
  | { readonly at: "interrupted"; readonly run: string }
  | { readonly at: "done"; readonly step: string; readonly facts: Facts }
  /** What the job has learnt and its log must not show; see secrets.ts. */
  | { readonly at: "secrets"; readonly sealed: string }
  /** For the next commands; one that runs keeps the address that it was started with. */
  | { readonly at: "endpoint"; readonly address: EndpointAddress }
  /** A token of Vault, sealed: until it is revoked, also by the next agent. */
  | { readonly at: "vault"; readonly phase: Phase; readonly sealed: string }
  /** The first so many of them are revoked. A login may come while that is done. */
  | { readonly at: "vault revoked"; readonly tokens: number }
  | { readonly at: "stopping"; readonly reason: StopReason }
  /** The outcome is decided, and the log has its last line. */
  | { readonly at: "ended"; readonly report: ReportStatus }
  /** The end is acknowledged, or another worker holds the job: only the cleanup is left. */
  | { readonly at: "reported" }
  /** The workspace is moved away: its place may be another job's. */
  | { readonly at: "left" };

export interface Journal {
  readonly entries: readonly Entry[];
  append(entry: Entry): void;
  /** Resolves when everything so far is on disk: for entries that must survive a power failure. */
  flush(): Promise<void>;
  find<A extends Entry["at"]>(
    at: A,
    which?: (entry: Extract<Entry, { at: A }>) => boolean,
  ): Extract<Entry, { at: A }> | undefined;
  /** May be called again. */
  close(): void;
}

/** The disk may be full. Once there is space, the job continues from the entries before. */
export class JournalError extends Error {
  override readonly name = "JournalError";
}

/** Returns how many SIGINTs the agents of a job have sent to this run. */
export const interruptsOf = ({ entries }: Pick<Journal, "entries">, run: string): number =>
  entries.filter((entry) => entry.at === "interrupted" && entry.run === run).length;

const sync = promisify(fsync);

/** Opens or creates it, and drops a last line that a crash cut short. */
export function openJournal(directory: string): Journal {
  const path = join(directory, "journal.ndjson");
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  let length = Buffer.byteLength(whole);
  const entries = whole
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry);
  const file = openSync(path, "a+", 0o600);
  if (whole.length < text.length) ftruncateSync(file, length);
  let areNamesDurable = false;
  let isClosed = false;
  return {
    entries,
    append(entry) {
      // The descriptor may belong to another file by now.
      if (isClosed) throw new JournalError("the journal is closed");
      const line = Buffer.from(`${JSON.stringify(entry)}\n`);
      try {
        // A full disk may take a part without an error.
        if (writeSync(file, line) < line.length)
          throw new Error("the journal was written only in part; the disk may be full");
      } catch (error) {
        ftruncateSync(file, length);
        throw new JournalError((error as Error).message, { cause: error });
      }
      length += line.length;
      entries.push(entry);
    },
    async flush() {
      await sync(file);
      if (areNamesDurable) return;
      syncDirectory(directory);
      syncDirectory(dirname(directory));
      areNamesDurable = true;
    },
    find: <A extends Entry["at"]>(
      at: A,
      which: (entry: Extract<Entry, { at: A }>) => boolean = () => true,
    ) =>
      entries.find(
        (entry): entry is Extract<Entry, { at: A }> =>
          entry.at === at && which(entry as Extract<Entry, { at: A }>),
      ),
    close() {
      if (isClosed) return;
      isClosed = true;
      closeSync(file);
    },
  };
}
