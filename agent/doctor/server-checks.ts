/** Checks the way to the control plane: network, proxy, certificate, clock, identity. */
import { ProblemError, RedirectError, send } from "../../protocol/transport.ts";
import type { AgentConfig } from "../config.ts";
import { ConfigError } from "../../common/settings/config-error.ts";
import { isProvedAt, savedIdentity, knownIdentity, type Identity } from "../identity.ts";
import { dispatcherOf } from "../../common/http-proxies.ts";
import { plainConnectorFor } from "../machine/network.ts";
import {
  authorityAdvice,
  isUnknownAuthority,
  redirectAdvice,
  unknownAuthority,
} from "../api/describe.ts";
import { readLeniently } from "../api/calls.ts";
import { openKnownServer, type ServerFacts } from "../api/known-server.ts";
import { provingConnectorFor, UnprovedServerError } from "../api/proof.ts";
import { finding, ok, type Finding } from "../../common/doctor/finding.ts";

const patience = 10_000;

/** Checks the server and the clock, and the identity only if the server can be reached. */
export async function serverChecks(config: AgentConfig): Promise<Finding[]> {
  const dispatcher = dispatcherOf(config.network, plainConnectorFor(config.url));
  const signal = AbortSignal.timeout(patience);
  const asked = Date.now();
  try {
    const answer = await send(config.url, "readReadiness", {}, { dispatcher, signal });
    await answer.body.dump();
    const milliseconds = Date.now() - asked;
    const server = ok("server", `${config.url} responds in ${milliseconds} ms${viaProxy(config)}`);
    const clock = clockOf(String(answer.headers.date), asked + milliseconds / 2);
    return [server, clock, await identityOf(config, dispatcher)];
  } catch (error) {
    return [unreachable(config, error as Error)];
  } finally {
    await dispatcher.destroy();
  }
}

const viaProxy = ({ network, url }: AgentConfig): string => {
  const name = url.startsWith("https:") ? "HTTPS_PROXY" : "HTTP_PROXY";
  return (network[name] ?? network[name.toLowerCase()]) ? `, ${name} is set` : "";
};

function unreachable({ url, network }: AgentConfig, error: Error): Finding {
  if (error instanceof ProblemError) {
    const advice =
      error.status === 503
        ? "it is starting or stopping, or cannot write its data: read the server's log"
        : "check that WINDLASS_URL is the address of a Windlass control plane";
    return finding("server", "failed", `${url} responds ${error.status}: ${error.message}`, advice);
  }
  if (error instanceof RedirectError)
    return finding("server", "failed", error.message, redirectAdvice(error));
  const code = codeOf(error);
  if (isUnknownAuthority(code))
    return finding(
      "server",
      "failed",
      `${url} cannot be reached: ${unknownAuthority}`,
      authorityAdvice,
    );
  const advice =
    adviceFor[code] ??
    (Object.keys(network).length > 0
      ? "check WINDLASS_URL and the proxy settings"
      : "check WINDLASS_URL; behind a proxy, set HTTPS_PROXY");
  return finding("server", "failed", `${url} cannot be reached: ${error.message || code}`, advice);
}

const codeOf = (error: unknown): string =>
  error instanceof Error
    ? ((error as NodeJS.ErrnoException).code ?? (error.cause ? codeOf(error.cause) : error.name))
    : "";

const adviceFor: Readonly<Record<string, string>> = {
  ENOTFOUND: "the host name does not resolve: check WINDLASS_URL and this machine's DNS",
  EAI_AGAIN: "host names do not resolve: check this machine's DNS",
  ECONNREFUSED: "nothing listens there: check address and port, and that windlass server runs",
  UND_ERR_CONNECT_TIMEOUT: "a firewall may block it; if a proxy is needed, set HTTPS_PROXY",
  TimeoutError: "a firewall may block it; if a proxy is needed, set HTTPS_PROXY",
  CERT_HAS_EXPIRED: "renew the server's certificate, or check this machine's clock",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another name: check WINDLASS_URL",
  EPROTO: "the server does not use TLS there: check whether WINDLASS_URL must begin with http://",
};

/** Compares by the `Date` header, in whole seconds. Certificates and AWS need a right clock. */
function clockOf(date: string, now: number): Finding {
  const seconds = Math.round((now - Date.parse(date)) / 1000);
  if (Number.isNaN(seconds))
    return finding("clock", "skipped", "the server's response has no Date header");
  const off = Math.abs(seconds);
  if (off <= 5) return ok("clock", "agrees with the server's");
  const text = `${off} s ${seconds > 0 ? "ahead of" : "behind"} the server's`;
  const advice = "synchronise this machine's clock: timedatectl set-ntp true";
  // AWS refuses signatures that are 5 minutes off.
  return finding("clock", off > 240 ? "failed" : "warning", text, advice);
}

async function identityOf(
  config: AgentConfig,
  dispatcher: ReturnType<typeof dispatcherOf>,
): Promise<Finding> {
  try {
    const known = knownIdentity(config);
    if (known) return await workerOf(config, known);
    const kept = savedIdentity(config);
    if (
      kept &&
      (await isProvedAt(config.url, kept, { signal: AbortSignal.timeout(patience), dispatcher }))
    ) {
      const worker = await workerOf(config, kept, { provesItself: true });
      const text = `${worker.text}; registered at ${kept.server}, and this is the same server`;
      return { ...worker, text };
    }
    if (config.registrationToken !== undefined)
      return finding(
        "identity",
        "skipped",
        "registers at the first start, which checks the registration token",
      );
    if (!kept)
      return finding(
        "identity",
        "failed",
        "this agent is not registered",
        "create a registration token in the console or with windlass tokens create, and set WINDLASS_REGISTRATION_TOKEN to it",
      );
    return finding(
      "identity",
      "failed",
      `this agent is registered at ${kept.server}, and ${config.url} does not prove to be the same server`,
      "set WINDLASS_URL back, or set WINDLASS_REGISTRATION_TOKEN to register here",
    );
  } catch (error) {
    const state = error instanceof ConfigError ? "failed" : "warning";
    return finding("identity", state, (error as Error).message);
  }
}

/** Sends the token only over a connection over which the agent itself would send it. */
async function workerOf(
  config: AgentConfig,
  identity: Identity,
  proved: Partial<ServerFacts> = {},
): Promise<Finding> {
  const { workerId: id, workerToken } = identity;
  const headers = { "x-worker-id": id, "x-worker-token": workerToken };
  // A doctor changes nothing: what this check learns of the server is not kept.
  const known = { ...openKnownServer(config), ...proved, learn: () => undefined };
  const dispatcher = dispatcherOf(config.network, provingConnectorFor(config.url, identity, known));
  try {
    const input = { params: { id } };
    const answer = await send(config.url, "readWorker", input, { headers, dispatcher });
    const { name, status } = (await readLeniently(answer)) as {
      name?: string;
      status?: string;
    };
    return ok("identity", `worker ${name ?? id}${status ? `, ${status}` : ""}`);
  } catch (error) {
    if (error instanceof ProblemError && error.status === 401)
      return finding(
        "identity",
        "failed",
        `the server refuses the token of worker ${id}`,
        "the token was replaced, or the worker was removed: set WINDLASS_WORKER_ID and WINDLASS_WORKER_TOKEN to the worker's id and its new token, or remove identity.json from the work directory and register again",
      );
    const state = error instanceof UnprovedServerError ? "failed" : "warning";
    return finding("identity", state, `could not be checked: ${(error as Error).message}`);
  } finally {
    await dispatcher.destroy();
  }
}
