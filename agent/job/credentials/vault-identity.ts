/**
 * Logs in to Vault or OpenBao with the job's token, keeps Vault's token in the job's home, and
 * revokes it at the end of each phase.
 */
import { existsSync } from "node:fs";
import type { JobContext } from "../context.ts";
import { fieldOf, phaseOf, principalOf, vaultPlaceOf, vaultTokenFile } from "./cloud-identity.ts";
import { giveFile } from "./give-file.ts";
import { patience, type HeldIdentity, type Phase } from "./held-identity.ts";
import { IdentityRefusedError } from "./identity-errors.ts";
import { claimsOf, identityToken, trustAdvice } from "./identity-token.ts";
import { RenewedSession } from "./renewed-session.ts";
import { VaultClient, VaultRefusedError, type VaultToken } from "./vault-client.ts";
import { heldTokens, rememberToken, revokeHeld } from "./vault-tokens.ts";

/** A renewal that adds less than this part has reached the longest life of the token. */
const fullPart = 0.5;

export function vaultIdentity(context: JobContext): HeldIdentity {
  const { log, over, workspace, settings } = context;
  const client = new VaultClient(vaultPlaceOf(context), settings.network);
  over.addEventListener("abort", () => void client.close());
  const file = vaultTokenFile(workspace.home);
  let phase = phaseOf(context);
  let login: VaultToken | undefined;
  /** The token in the file; undefined: the job must not have one yet. */
  let placed: string | undefined;
  let isPlaced = false;
  const onTrouble = (text: string): void => log.system(text);

  const session: RenewedSession<VaultToken> = new RenewedSession({
    source: "Vault",
    over,
    onTrouble,
    async obtain(signal) {
      const asked = phase;
      const renewed = await renew(signal);
      if (renewed) return renewed;
      const given = await logIn(context, client, asked, signal);
      rememberToken(context, asked, given.token);
      // The next phase may have begun meanwhile.
      signal.throwIfAborted();
      login = given;
      return given;
    },
    onCredentials: () => {},
    onRenewed: write,
  });

  /** Undefined: the job needs another token. */
  async function renew(signal: AbortSignal): Promise<VaultToken | undefined> {
    const present = login;
    if (!present?.isRenewable) return undefined;
    try {
      const renewed = await client.renew(present.token, signal);
      signal.throwIfAborted();
      if (renewed.life < present.life * fullPart) return undefined;
      if (present.life === 0) login = renewed;
      return renewed;
    } catch (error) {
      if (error instanceof VaultRefusedError) return undefined;
      throw error;
    }
  }

  function write(): void {
    const { token } = session.valid ?? {};
    if (!isPlaced || token === undefined || token === placed) return;
    try {
      giveFile(context, file, token);
      placed = token;
    } catch (error) {
      onTrouble(`The job's token of Vault cannot be written: ${(error as Error).message}`);
    }
  }

  async function endPhase(): Promise<void> {
    login = undefined;
    placed = undefined;
    session.reset();
    noteUnrevoked(context, await revokeHeld(context));
  }

  let isKept = false;
  async function begin(stop: AbortSignal): Promise<void> {
    await session.begin(stop, patience);
    if (!isKept) void session.keep();
    isKept = true;
  }

  return {
    begin,
    async resume() {
      const held = heldTokens(context);
      const last = held.at(-1);
      if (last?.phase === phase) {
        // Renewed at once. How long it has been valid for is not known any more.
        login = { token: last.token, life: 0, isRenewable: true };
        placed = last.token;
      } else if (held.length > 0) await endPhase();
      isPlaced = existsSync(file) || context.journal.find("done", isInit) !== undefined;
      isKept = true;
      void session.keep();
    },
    async enter(stop) {
      const next = phaseOf(context);
      if (next !== phase) {
        phase = next;
        await endPhase();
      }
      await begin(stop);
      isPlaced = true;
      write();
    },
    place() {
      isPlaced = true;
      write();
    },
    describe: () => describeRole(context, phase),
  };
}

const isInit = ({ step }: { readonly step: string }): boolean => step === "init";

const describeRole = (context: JobContext, phase: Phase): string =>
  `role ${principalOf(context, "vault", phase)} of Vault at ${fieldOf(context, "address")}`;

/** For the log, when Vault was told that the job needs its tokens no longer. */
export function noteUnrevoked({ log }: Pick<JobContext, "log">, failure: string | undefined): void {
  if (failure !== undefined)
    log.system(`Vault did not revoke the job's token, which ends by itself: ${failure}`);
}

async function logIn(
  context: JobContext,
  client: VaultClient,
  phase: Phase,
  signal: AbortSignal,
): Promise<VaultToken> {
  const { token } = await identityToken(context, phase, signal);
  try {
    return await client.login(principalOf(context, "vault", phase) ?? "", token, signal);
  } catch (error) {
    if (!(error instanceof VaultRefusedError)) throw error;
    throw new IdentityRefusedError(
      `Vault refused the token for the ${describeRole(context, phase)}, mount ${fieldOf(context, "mount")} (${claimsOf(token)}): ${error.message}. ` +
        `Check that the role exists at this mount and is bound to exactly this audience and subject, and that Vault can reach the issuer; ${trustAdvice}`,
    );
  }
}
