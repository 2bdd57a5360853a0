/** Checks which kinds of cloud identities jobs can have here. */
import { dispatcherOf } from "../../common/http-proxies.ts";
import { ProblemError, send } from "../../protocol/transport.ts";
import { describe } from "../api/describe.ts";
import { readLeniently } from "../api/calls.ts";
import type { AgentConfig } from "../config.ts";
import {
  identityProviders,
  isIssued,
  issuerFault,
  type IdentityProvider,
} from "../../protocol/identity-kinds.ts";
import { plainConnectorFor } from "../machine/network.ts";
import { finding, ok, type Finding } from "../../common/doctor/finding.ts";

const check = "identities";
const patience = 10_000;

/** All but `aws` need tokens of the control plane, whose issuer clouds must reach and accept. */
export async function identities({ url, network }: AgentConfig): Promise<Finding> {
  const dispatcher = dispatcherOf(network, plainConnectorFor(url));
  try {
    const signal = AbortSignal.timeout(patience);
    const answer = await send(url, "readIssuer", {}, { dispatcher, signal });
    const { issuer } = (await readLeniently(answer)) as { issuer?: unknown };
    if (typeof issuer !== "string" || !URL.canParse(issuer)) return onlyAws;
    const { working, lacks } = kindsOf(issuer);
    return ok(check, [`${working.join(", ")}, with tokens of ${issuer}`, ...lacks].join("; "));
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) return onlyAws;
    return finding(check, "skipped", `the issuer of tokens cannot be read: ${describe(error)}`);
  } finally {
    await dispatcher.destroy();
  }
}

const onlyAws = ok(check, "aws; the control plane gives no tokens for the other kinds");

export function kindsOf(issuer: string): {
  readonly working: readonly IdentityProvider[];
  readonly lacks: readonly string[];
} {
  const faultOf = (kind: IdentityProvider) =>
    isIssued(kind) ? issuerFault(kind, issuer) : undefined;
  const lacking = identityProviders.filter(faultOf);
  const names = lacking.join(", ");
  return {
    working: identityProviders.filter((kind) => !lacking.includes(kind)),
    lacks: lacking
      .slice(0, 1)
      .map((kind) => `not ${names}: ${faultOf(kind)} (WINDLASS_ISSUER_URL of the control plane)`),
  };
}
