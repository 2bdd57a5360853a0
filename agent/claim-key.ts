/** The Idempotency-Key of the claim under way, on disk: a claim whose answer was lost, to the network or to a kill, is repeated with it. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { readIfExists } from "../common/files.ts";
import { writeWhole } from "./machine/files.ts";

export interface ClaimKey {
  current(): string;
  /** The claimed job is in a journal. A power cut may bring the old key back: its answer is then known already. */
  renew(): void;
}

/** Takes over the key of a claim that was under way when the agent died, or makes a new one. */
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
