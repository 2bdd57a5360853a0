/**
 * Whether the server can serve requests, and whether its storage works.
 *
 * These are two questions: a load balancer must not remove every server because something that they
 * share, such as the object store, is away. Calls that do not need it are still served, above all
 * heartbeats, without which running jobs would count as lost.
 */
import { second } from "../../../common/units.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { isStorageBusy, storageTrouble } from "../../domain/storage-troubles.ts";
import { findFact, setFact } from "../../store/facts.ts";
import type { Context } from "../context.ts";
import { Check } from "./check.ts";
import type { EventLog } from "./events.ts";

/** What is checked by writing, because a full disk or a lock shows only then. */
export const storageParts = ["database", "files"] as const;
export type StoragePart = (typeof storageParts)[number];

export interface Readiness {
  /** Throws while stopping or if the database cannot be read; not if it is busy or read-only. */
  requireReady(): Promise<void>;
  /** What is wrong with each part of the storage; a part that works is missing. */
  problems(): Promise<ReadonlyMap<StoragePart, string>>;
  /** Resolves when no check runs, or after a second. */
  settled(): Promise<void>;
}

/** The fact that is written to see whether the database accepts changes. */
const checkedAt = "storage_checked_at";
const probeBytes = 4096;

/** Logs when a part of the storage fails, and when it works again. */
export function openReadiness(
  { store, blobs, draining, now }: Context,
  log: Pick<EventLog, "info" | "warn">,
): Readiness {
  const reading = new Check(() => findFact(store.read, checkedAt), second);
  const logChange = (part: StoragePart) => (error: unknown) => {
    if (error === undefined) log.info({ part }, `the storage works again: ${part}`);
    else if (!draining.aborted) log.warn({ part, err: error }, `the storage fails: ${part}`);
  };
  const part = (name: StoragePart, run: () => Promise<unknown>) =>
    new Check(run, 5 * second, logChange(name));
  const parts: Readonly<Record<StoragePart, Check>> = {
    database: part("database", () => store.write((tx) => setFact(tx, checkedAt, String(now())))),
    files: part("files", async () => {
      const { blob } = await blobs.write(probe(), Infinity);
      await blobs.delete(blob);
    }),
  };
  return {
    requireReady: async () => {
      if (draining.aborted) throw new RefusalError("unavailable", "the server is stopping");
      const error = await reading.error();
      if (error !== undefined && !isStorageBusy(error)) throw error;
    },
    problems: async () => {
      const found = new Map<StoragePart, string>();
      const look = async (name: StoragePart) => {
        const error = await parts[name].error();
        if (error !== undefined)
          found.set(name, storageTrouble(error) ?? "the server's log has the details");
      };
      await Promise.all(storageParts.map(look));
      return found;
    },
    settled: async () => {
      await Promise.all([reading, ...Object.values(parts)].map((check) => check.settled()));
    },
  };
}

async function* probe(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(probeBytes);
}
