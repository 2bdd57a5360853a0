/** Failed calls in words: what happened, and what to do. */
import type { Problem } from "../../protocol/problem.ts";
import { ProblemError } from "../../protocol/transport.ts";
import { faultText } from "../../protocol/words.ts";
import { Failure } from "../terminal/output.ts";

/** The error as the user reads it. What is not about the network or an answer stays as it is. */
export function describeFailure(error: unknown, server: string): unknown {
  if (error instanceof ProblemError) return new Failure(problemText(error, server), 1, error);
  if (!(error instanceof Error) || error instanceof Failure || error.name === "AbortError")
    return error;
  if (error instanceof SyntaxError)
    return new Failure(`${server} does not answer like Windlass: is the address right?`, 1, error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const why = advice[code] ?? error.message ?? code;
  return new Failure(`${server} cannot be reached: ${why}`, 1, error);
}

/** Whether the same call may do better later: the network, a server that starts or stops, too many calls. */
export function mayPass(error: unknown): boolean {
  const cause = error instanceof Failure ? error.cause : error;
  if (cause instanceof ProblemError) return cause.status >= 500 || cause.status === 429;
  if (!(cause instanceof Error)) return false;
  // An answer that was cut off within its chunks has a name and no code.
  return cause.name === "HTTPParserError" || (cause as NodeJS.ErrnoException).code !== undefined;
}

const advice: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there. Is the address right, and does windlass server run?",
  ENOTFOUND: "its name is not known. Is the address right?",
  EAI_AGAIN: "names cannot be looked up now. Is there a network?",
  ECONNRESET: "the connection was cut. Is it https instead of http?",
  UND_ERR_SOCKET: "the connection was cut. Is it https instead of http?",
  UND_ERR_CONNECT_TIMEOUT: "it does not answer. Is there a proxy or a firewall in between?",
  UND_ERR_HEADERS_TIMEOUT: "it took too long to answer",
  SELF_SIGNED_CERT_IN_CHAIN:
    "its certificate is from an authority that is not known here: set NODE_EXTRA_CA_CERTS",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "its certificate is from an authority that is not known here: set NODE_EXTRA_CA_CERTS",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "its certificate is from an authority that is not known here: set NODE_EXTRA_CA_CERTS",
  CERT_HAS_EXPIRED: "its certificate has expired",
};

/** What to do about a refusal, where the client knows more than the server says. */
const remedies: Readonly<Record<string, (server: string) => string>> = {
  provider_not_connected: (server) => `sign in with it in the browser: ${server}/login`,
  provider_token_rejected: (server) => `sign in with it again in the browser: ${server}/login`,
  state_locked: () => "windlass state unlock CONFIGURATION, once its terraform is gone",
  plan_is_stale: () => "plan again: windlass jobs plan CONFIGURATION",
  plan_already_used: () => "plan again: windlass jobs plan CONFIGURATION",
};

function problemText({ status, problem, message }: ProblemError, server: string): string {
  const remedy = remedies[problem.code ?? ""]?.(server);
  const id = status >= 500 && problem.request_id ? ` (request ${problem.request_id})` : "";
  return `${faultsText(problem) ?? message}${id}${remedy === undefined ? "" : `: ${remedy}`}`;
}

/** Input that the server does not take, field by field. */
function faultsText({ errors = [] }: Partial<Problem>): string | undefined {
  const lines = errors.map(faultText);
  return lines.length > 1 ? `this is not accepted:\n  ${lines.join("\n  ")}` : lines[0];
}
