/**
 * Keeps the Idempotency-Key of the current claim on disk: a claim whose response was lost, to the
 * network or to a crash, is repeated with it.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { readIfExists } from "../common/files.ts";
import { writeWhole } from "./machine/files.ts";

export interface ClaimKey {
  current(): string;
  /**
   * The claimed job is in a journal. After a power failure the old key may be back: the response to
   * it is then a job that the agent already holds.
   */
  renew(): void;
}

/** Reads the key of a claim that was under way when the agent died, or makes a new one. */
export function openClaimKey(workDir: string): ClaimKey {
  const path = join(workDir, "claim-key");
  let key = readIfExists(path)?.trim();
  const renew = (): void => {
    key = randomUUID();
    writeWhole(path, `${key}\n`);
  };
  if (!key) renew();
  return { current: () => key ?? "", renew };
}
