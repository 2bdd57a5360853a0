/** Gives a job's terraform its cloud credentials. */
import { isPlainHttp } from "../../machine/network.ts";
import { JobStoppedError, StepFailedError, type JobContext, type Step } from "../context.ts";
import { JournalError, type StopReason } from "../journal.ts";
import { hasRun } from "../terraform/terraform.ts";
import { fieldOf, kindOf, replacedVariables } from "./cloud-identity.ts";
import { giveFile } from "./give-file.ts";
import type { HeldIdentity } from "./held-identity.ts";
import { loopbackIdentity } from "./loopback-identity.ts";
import { noteUnrevoked, vaultIdentity } from "./vault-identity.ts";
import { revokeTokens } from "./vault-tokens.ts";

/** Before terraform starts, so that a wrong identity fails here with a clear message. */
export const obtainCredentials: Step = {
  name: "credentials",
  async run(context) {
    const { claim, log, stop } = context;
    const identity = openIdentity(context);
    if (!identity) {
      if (claim.cloud_identity)
        log.system(
          `Cloud identity: this machine's own identity at ${claim.cloud_identity.provider}`,
        );
      return {};
    }
    const replaced = replacedVariables(context);
    if (replaced.length > 0)
      log.system(
        `Warning: the cloud identity replaces what the environment of the configuration sets: ${replaced.join(", ")}. Remove it there`,
      );
    await obtain(context, () => identity.begin(stop));
    log.system(`Cloud identity: ${identity.describe()}`);
    return {};
  },
  async resume(context) {
    const identity = openIdentity(context);
    if (identity) await obtain(context, () => identity.resume());
  },
};

/** Before terraform applies. One that runs already has what it needs. */
export async function enterApply(context: JobContext): Promise<void> {
  const { identity, stop } = context;
  if (!identity || hasRun(context, "apply")) return;
  await obtain(context, () => identity.enter(stop));
}

/** After the last command. */
export async function endIdentity(context: JobContext): Promise<void> {
  noteUnrevoked(context, await revokeTokens(context));
}

function openIdentity(context: JobContext): HeldIdentity | undefined {
  const kind = kindOf(context);
  if (kind === undefined || kind === "machine") return undefined;
  if (kind === "vault") {
    checkVaultAddress(context);
    const { ca } = context.claim.cloud_identity ?? {};
    if (ca !== undefined) giveFile(context, context.workspace.vaultAuthority, ca);
  }
  context.identity = kind === "vault" ? vaultIdentity(context) : loopbackIdentity(context, kind);
  return context.identity;
}

/** Over http, others on the network could read the job's token and Vault's. A server may be older. */
function checkVaultAddress(context: JobContext): void {
  const address = fieldOf(context, "address");
  if (!URL.canParse(address))
    throw new StepFailedError(
      `credentials: ${address} is no address of a Vault: check the host and the port of the cloud identity`,
    );
  if (context.settings.allowHttp || !isPlainHttp(address)) return;
  throw new StepFailedError(
    `credentials: Vault at ${address} must have an https address, because over http its tokens can be read on the network. WINDLASS_ALLOW_HTTP=1 of the runner allows http`,
  );
}

async function obtain({ stop }: JobContext, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (stop.aborted) throw new JobStoppedError(stop.reason as StopReason);
    if (error instanceof JournalError) throw error;
    throw new StepFailedError(`credentials: ${(error as Error).message}`);
  }
}
