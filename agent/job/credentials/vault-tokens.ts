/** The tokens that Vault has given a job, in its journal until they are revoked. */
import { rmSync } from "node:fs";
import { second } from "../../../common/units.ts";
import type { JobContext } from "../context.ts";
import { conceal, openFromJournal, sealForJournal } from "../secrets.ts";
import { vaultPlaceOf, vaultTokenFile } from "./cloud-identity.ts";
import type { Phase } from "./held-identity.ts";
import { VaultClient, VaultRefusedError } from "./vault-client.ts";

type Known = Pick<JobContext, "claim" | "journal" | "settings" | "workspace">;

/** For all of a job's tokens together: its end must not wait for a Vault that is away. */
const revocationLimit = 10 * second;

/** Called before anything can use the token. */
export function rememberToken(context: JobContext, phase: Phase, token: string): void {
  conceal(context, [token]);
  context.journal.append({ at: "vault", phase, sealed: sealForJournal(context, token) });
}

/** Those that are not revoked, oldest first. */
export function heldTokens(known: Known): { readonly phase: Phase; readonly token: string }[] {
  return entriesOf(known)
    .slice(revokedIn(known))
    .flatMap(({ phase, sealed }) => {
      const token = openFromJournal(known, sealed);
      return token === undefined ? [] : [{ phase, token }];
    });
}

const entriesOf = ({ journal }: Known) =>
  journal.entries.flatMap((entry) => (entry.at === "vault" ? [entry] : []));

const revokedIn = ({ journal }: Known): number =>
  journal.entries.findLast((entry) => entry.at === "vault revoked")?.tokens ?? 0;

/** Revokes all that the job has. Returns what could not be done. */
export async function revokeTokens(known: Known): Promise<string | undefined> {
  let failure: string | undefined;
  // A login that was under way may have added one meanwhile.
  while (failure === undefined && heldTokens(known).length > 0) failure = await revokeHeld(known);
  return failure;
}

/** Revokes what the job has now, and removes its file. Returns what could not be done. */
export async function revokeHeld(known: Known): Promise<string | undefined> {
  const held = heldTokens(known);
  const tokens = entriesOf(known).length;
  if (held.length === 0) return undefined;
  const signal = AbortSignal.timeout(revocationLimit);
  removeTokenFile(known);
  const client = new VaultClient(vaultPlaceOf(known), known.settings.network);
  try {
    const ends = await Promise.allSettled(held.map(({ token }) => client.revoke(token, signal)));
    const failed = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as Error] : []));
    const other = failed.find((error) => !(error instanceof VaultRefusedError));
    // It refuses tokens that have ended, and ones whose policies lack auth/token/revoke-self.
    if (other) return other.message;
    known.journal.append({ at: "vault revoked", tokens });
    return failed.length === held.length ? failed[0]?.message : undefined;
  } finally {
    await client.close();
  }
}

function removeTokenFile({ workspace }: Known): void {
  try {
    rmSync(vaultTokenFile(workspace.home), { force: true });
  } catch {
    // The job has put a directory in its place, which is removed with the workspace.
  }
}
