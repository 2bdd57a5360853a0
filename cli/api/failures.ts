/** Turns failed calls into messages with a cause and a remedy. */
import type { Problem, ProblemCode } from "../../protocol/problem.ts";
import { ProblemError, RedirectError } from "../../protocol/transport.ts";
import { faultText, sentence } from "../../protocol/words.ts";
import { CliError } from "../terminal/output.ts";

/** Returns a `CliError` for network and HTTP errors, and any other error unchanged. */
export function toCliError(error: unknown, server: string): unknown {
  if (error instanceof ProblemError)
    return new CliError(problemText(error, server), isWrongUsage(error.problem) ? 2 : 1, error);
  if (!(error instanceof Error) || error instanceof CliError || error.name === "AbortError")
    return error;
  if (error instanceof RedirectError) {
    const advice = error.server === undefined ? "Check the address." : "Use that address.";
    return new CliError(`${error.message}. ${advice}`, 1, error);
  }
  if (error instanceof SyntaxError)
    return new CliError(`${server} is not a Windlass server. Check the address.`, 1, error);
  if (error.name === "HTTPParserError")
    return new CliError(
      `The response of ${server} broke off, or it is not a Windlass server. If it is not being restarted, check the address.`,
      1,
      error,
    );
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const why = isCut(error) ? closedText(server) : (advice[code] ?? error.message ?? code);
  return new CliError(`${server} cannot be reached: ${why}`, 1, error);
}

/** Whether a retry may succeed: network errors, a server that starts or stops, rate limits. */
export function isTransient(error: unknown): boolean {
  const cause = error instanceof CliError ? error.cause : error;
  if (cause instanceof ProblemError) return cause.status >= 500 || cause.status === 429;
  if (!(cause instanceof Error)) return false;
  // A response that ends in the middle of a chunk has a name but no code.
  return cause.name === "HTTPParserError" || (cause as NodeJS.ErrnoException).code !== undefined;
}

/** Whether a connection was cut after it had been made. */
export const isCut = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === "HTTPParserError" ||
    ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(
      (error as NodeJS.ErrnoException).code ?? "",
    ));

const unknownAuthority =
  "its certificate is from an unknown authority. Set NODE_EXTRA_CA_CERTS to the authority's file.";

const closedText = (server: string): string =>
  `the connection was closed. If the server is not being restarted, check ${
    server.startsWith("https:")
      ? "the address and the proxies in between."
      : "whether the address needs https instead of http."
  }`;

const advice: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused. Check the address and that windlass server is running.",
  ENOTFOUND: "the host name is unknown. Check the address.",
  EAI_AGAIN: "the host name could not be resolved. Check your network connection.",
  EPROTO:
    "the server does not use TLS there. Check whether the address needs http instead of https.",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out. Check for a proxy or a firewall in between.",
  UND_ERR_HEADERS_TIMEOUT: "the response took too long",
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_SSL_WRONG_VERSION_NUMBER:
    "it does not speak https on this port. Check the port, or whether the address needs http instead of https.",
};

/** Remedies for problem codes, where the client knows a command or page that helps. */
const remedies: Readonly<Record<string, (server: string) => string>> = {
  provider_not_connected: (server) => `Connect it in the browser: ${server}/settings`,
  provider_token_rejected: (server) => `Sign in with it again in the browser: ${server}/login`,
};

function problemText({ status, problem, message }: ProblemError, server: string): string {
  const remedy = remedies[problem.code ?? ""]?.(server);
  const id = status >= 500 && problem.request_id ? ` (request ${problem.request_id})` : "";
  const text = `${faultsText(problem) ?? message}${id}`;
  return remedy === undefined ? text : sentences(text, remedy);
}

/** Whether the server refused a call with this code. */
export const isRefusal = (error: unknown, code: ProblemCode): boolean =>
  error instanceof CliError && error.cause instanceof ProblemError && error.cause.code === code;

/** Whether the server found a fault in this field of a request, such as `body.groups.0.group`. */
export const hasFaultAt = (error: unknown, path: string): boolean =>
  error instanceof CliError &&
  error.cause instanceof ProblemError &&
  (error.cause.problem.errors ?? []).some((fault) => fault.path === path);

/**
 * Returns what a call reads; undefined if the caller does not get it: it is gone, or it belongs to the
 * whole space and the caller has roles in zones only.
 */
export async function ifReadable<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isRefusal(error, "not_found") || isRefusal(error, "permission_denied")) return undefined;
    throw error;
  }
}

/** Adds what to do to these refusals, where the command knows better than the table above. */
export function withRemedy(
  error: unknown,
  remedies: Partial<Record<ProblemCode, string>>,
): unknown {
  if (!(error instanceof CliError) || !(error.cause instanceof ProblemError)) return error;
  const remedy = remedies[error.cause.code as ProblemCode];
  return remedy === undefined
    ? error
    : new CliError(sentences(error.message, remedy), error.exitCode, error.cause);
}

const sentences = (first: string, next: string): string => `${sentence(first)} ${next}`;

/** The options of fields that no file and no other option sets. */
const optionNames: Readonly<Record<string, string>> = {
  "body.targets": "--target",
  "body.replace": "--replace",
  "body.exclude": "--exclude",
  "body.refresh_only": "--refresh-only",
  "body.slug": "--slug",
  "body.expires_in_days": "--days",
  "body.parallelism": "--parallelism",
  "body.timeout_seconds": "--timeout",
  "body.base_url": "--base-url",
  "body.api_url": "--api-url",
  "body.status_name": "--status-name",
  "body.poll_seconds": "--poll",
  "body.cron": "--cron",
  "body.timezone": "--timezone",
  "body.window_minutes": "--window",
  "body.starts_at": "--starts",
  "body.ends_at": "--ends",
  "body.expires_at": "--expires-at",
};

/** Replaces the name of a field by the option that sets it. */
const optionOf = (path: string): string =>
  path.replace(/^body\.\w+/, (field) => optionNames[field] ?? field);

/** The messages about options of a plan that exclude each other name them as fields. */
const withOptions = (message: string): string =>
  message.replace(
    /(?<=^cannot be combined with )(destroy|refresh_only|targets)$/,
    (field) => optionNames[`body.${field}`] ?? `--${field}`,
  );

/** Whether options are all that is wrong with a request: then the command was typed wrongly. */
const isWrongUsage = ({ errors = [] }: Partial<Problem>): boolean =>
  errors.length > 0 &&
  errors.every(({ path }) => optionNames[/^body\.\w+/.exec(path)?.[0] ?? ""] !== undefined);

function faultsText({ errors = [] }: Partial<Problem>): string | undefined {
  const lines = errors.map(({ path, message }) =>
    faultText({ path: optionOf(path), message: withOptions(message) }),
  );
  return lines.length > 1 ? `Invalid input:\n  ${lines.join("\n  ")}` : lines[0];
}
