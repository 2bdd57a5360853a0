/** Keeps the claim's Idempotency-Key on disk, to repeat a claim whose response was lost. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { readIfExists } from "../common/files.ts";
import { writeWhole } from "./machine/files.ts";

export interface ClaimKey {
  current(): string;
  /** The job is in a journal. A power failure may bring the old key back, for the same job. */
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
