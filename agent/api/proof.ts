/**
 * On plain http, a job on this machine could take the control plane's port during a restart and be
 * sent the worker's token. So each new connection first proves who is at its other end.
 */
import { hash, randomUUID } from "node:crypto";
import { withoutEndSlashes } from "../../common/addresses.ts";
import { equalSecrets } from "../../common/equal-secrets.ts";
import type { Socket } from "node:net";
import { callbackify, promisify } from "node:util";
import type { Connector } from "../../common/http-client.ts";
import { kibibyte, second } from "../../common/units.ts";
import { workerProof } from "../../common/worker-proof.ts";
import { calledEndpoints } from "../../protocol/called-endpoints.ts";
import type { WorkerProof } from "../../protocol/workers.ts";
import { plainConnector } from "../machine/network.ts";
import type { KnownServer } from "./known-server.ts";

type ConnectOptions = Parameters<Connector>[0];

/** What a server is asked to prove that it knows. */
export interface ProofSecrets {
  readonly workerId: string;
  readonly workerToken: string;
  /** From an earlier heartbeat; unlike the token, it is valid when the worker was removed. */
  readonly proofKey?: string | undefined;
}

/** The server has proved itself before; what listens at its address now cannot. */
export class UnprovedServerError extends Error {
  override readonly name = "UnprovedServerError";

  constructor(host: string) {
    super(
      `${host} does not prove that it is the control plane that this agent knows, so it gets no credential. If the control plane was replaced, remove server.json from the work directory and restart the agent`,
    );
  }
}

/** Whether a response to `proveWorker` proves that the server knows the token, and the key. */
export function verifyProof(
  { workerToken, proofKey }: ProofSecrets,
  nonce: string,
  { proof, key_proofs = [] }: Partial<WorkerProof>,
): { readonly knowsToken: boolean; readonly knowsKey: boolean } {
  // The control plane stores the token's hash, so it can compute the same digest.
  const byToken = workerProof(hash("sha256", workerToken, "hex"), nonce);
  const byKey = proofKey === undefined ? undefined : workerProof(proofKey, nonce);
  return {
    knowsToken: equal(proof, byToken),
    knowsKey: byKey !== undefined && key_proofs.some((given) => equal(given, byKey)),
  };
}

const equal = (given: unknown, expected: string): boolean =>
  typeof given === "string" && equalSecrets(given, expected);

/**
 * Undefined for https. A connection without a proof is used only if this server never gave one: it
 * may know only the published interface.
 */
export const provingConnectorFor = (
  server: string,
  identity: Omit<ProofSecrets, "proofKey">,
  known: KnownServer,
): ((timeout: number) => Connector) | undefined =>
  server.startsWith("http:")
    ? (timeout) => provingConnector(server, identity, known, timeout)
    : undefined;

function provingConnector(
  server: string,
  identity: Omit<ProofSecrets, "proofKey">,
  known: KnownServer,
  timeout: number,
): Connector {
  const connect = promisify(plainConnector(timeout)) as (
    options: ConnectOptions,
  ) => Promise<Socket>;
  const { host, pathname } = new URL(server);
  const path = withoutEndSlashes(pathname) + calledEndpoints.proveWorker.path;
  const prove = async (socket: Socket): Promise<"proved" | "usable" | "used up"> => {
    const nonce = randomUUID();
    const body = JSON.stringify({ worker_id: identity.workerId, nonce });
    const answer = await exchange(socket, host, path, body);
    if (answer === undefined) return "used up";
    const secrets = { ...identity, proofKey: known.proofKey };
    const { knowsToken, knowsKey } = verifyProof(secrets, nonce, answer.content);
    // Behind a proxy that ends each connection, a connection cannot prove itself before it is used.
    if (answer.isOver) return "used up";
    if (!knowsToken && !knowsKey) return "usable";
    // The control plane has another WINDLASS_SECRET_KEY: the next heartbeat brings the new key.
    const proofKey = knowsKey ? secrets.proofKey : undefined;
    if (!known.provesItself || proofKey !== known.proofKey)
      known.learn({ provesItself: true, proofKey });
    return "proved";
  };
  const open = async (options: ConnectOptions): Promise<Socket> => {
    const socket = await connect(options);
    if (options.protocol !== "http:" || options.host !== host) return socket;
    // undici attaches its own handler later.
    socket.on("error", ignore);
    const outcome = await prove(socket);
    if (outcome === "proved" || (outcome === "usable" && !known.provesItself))
      return socket.off("error", ignore);
    socket.destroy();
    if (known.provesItself) throw new UnprovedServerError(host);
    return connect(options);
  };
  // undici reads the socket only without an error.
  return callbackify(open) as unknown as Connector;
}

const ignore = (): void => undefined;

const patience = 10 * second;
const responseLimit = 16 * kibibyte;

interface Exchanged {
  readonly content: Partial<WorkerProof>;
  /** Whether nothing more can be sent on the connection. */
  readonly isOver: boolean;
}

/** Sends a request that undici does not see. Undefined if the response has no known length. */
async function exchange(
  socket: Socket,
  host: string,
  path: string,
  body: string,
): Promise<Exchanged | undefined> {
  const { promise, resolve } = Promise.withResolvers<Exchanged | undefined>();
  let received = Buffer.alloc(0);
  const read = (): void => {
    for (let piece: Buffer | null; (piece = socket.read() as Buffer | null) !== null;)
      received = Buffer.concat([received, piece]);
    const response = parse(received);
    if (response === "more" && received.length <= responseLimit) return;
    resolve(response === "more" ? undefined : response);
  };
  const end = (): void => resolve(undefined);
  const timer = setTimeout(end, patience);
  socket.on("readable", read).once("end", end).once("close", end);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: keep-alive\r\n\r\n${body}`,
  );
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.off("readable", read).off("end", end).off("close", end);
  }
}

/** Reads an HTTP/1.1 response; "more": it is not complete yet. */
function parse(received: Buffer): Exchanged | "more" | undefined {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return "more";
  const [status = "", ...lines] = received
    .toString("latin1", 0, headEnd)
    .toLowerCase()
    .split("\r\n");
  const header = (name: string): string[] =>
    lines
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).trim());
  const [length, ...others] = header("content-length");
  if (!/^http\/1\.1 \d{3}\b/.test(status) || length === undefined || others.length > 0)
    return undefined;
  if (!/^\d{1,5}$/.test(length) || header("transfer-encoding").length > 0) return undefined;
  const content = received.subarray(headEnd + 4);
  if (content.length < Number(length)) return "more";
  if (content.length > Number(length)) return undefined;
  const isOver = header("connection").some((value) => value.includes("close"));
  try {
    const value: unknown = JSON.parse(content.toString());
    const isObject = typeof value === "object" && value !== null;
    return { content: status.startsWith("http/1.1 200") && isObject ? value : {}, isOver };
  } catch {
    return { content: {}, isOver };
  }
}
