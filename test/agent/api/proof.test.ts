/** Plain http: what listens at the control plane's port must prove itself before it gets a token. */
import dns from "node:dns";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { createApi } from "../../../agent/api/api.ts";
import { Revocation } from "../../../agent/api/failures.ts";
import { openKnownServer } from "../../../agent/api/known-server.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";
import { addTestWorker, setRows } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { addOwner } from "../../helpers/plane/rows.ts";

const { plane } = planeForFile();
let folder: string;
folderForEachTest((path) => {
  folder = path;
});

type Handle = (socket: Socket) => void;

/** A port that different programs listen on, one after the other. */
async function port() {
  const sockets = new Set<Socket>();
  let handle: Handle = (socket) => socket.destroy();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined).on("close", () => sockets.delete(socket)));
    handle(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: number } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${number}`,
    /** Ends the connections of the program that listened before. */
    taken(by: Handle) {
      handle = by;
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

const controlPlane: Handle = (socket) => {
  const { hostname, port: number } = new URL(plane.url);
  const target = connect(Number(number), hostname).on("error", () => undefined);
  socket.pipe(target).pipe(socket);
};

/** Answers every request with 200 and the same body, and keeps what it was sent. */
function other(received: string[], headers = "", body = "{}"): Handle {
  return (socket) => {
    let text = "";
    socket.on("data", (piece: Buffer) => {
      received.push(piece.toString("latin1"));
      text += piece.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end < 0 || text.length < end + 4 + length) return;
      text = "";
      socket.write(`HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`);
      if (headers.includes("close")) socket.end();
    });
  };
}

async function agentAt(url: string) {
  const worker = await addTestWorker(plane, await addOwner(plane.context.store));
  const token = worker.headers["x-worker-token"] ?? "";
  const refused: unknown[] = [];
  const revocation = new Revocation(0, () => refused.push("revoked"));
  const open = () =>
    createApi({
      server: url,
      workerId: worker.id,
      workerToken: token,
      network: {},
      known: openKnownServer({ workDir: folder, url }),
      log: pino({ level: "silent" }),
      retry: { first: 1, most: 1 },
      revocation,
    });
  return { worker, token, open, refused };
}

const beat = { version: "1.0.0" };
const forever = new AbortController().signal;

test("a program that takes the port of a control plane that has proved itself gets no token", async () => {
  await using place = await port();
  const { open, token, worker } = await agentAt(place.url);
  place.taken(controlPlane);
  let api = open();
  await api.heartbeat(beat, 0, forever);
  // Also after a restart of the agent.
  await api.close();
  api = open();
  const received: string[] = [];
  place.taken(other(received));
  const heard = api.heartbeat(beat, 0, forever);
  await expect.poll(() => received.length).toBeGreaterThan(3);
  // Its calls are repeated until the control plane is back.
  place.taken(controlPlane);
  expect(await heard).toMatchObject({ worker_id: worker.id });
  await api.close();
  expect(received.join("")).toContain("/api/workers/proof");
  expect(received.join("")).not.toContain(token);
});

test("a control plane proves itself to a worker that it has removed, or whose token it has replaced", async () => {
  await using place = await port();
  const { open, worker, refused } = await agentAt(place.url);
  place.taken(controlPlane);
  const api = open();
  // The second one asks for the key.
  for (let n = 0; n < 2; n += 1) await api.heartbeat(beat, 0, forever);
  expect(openKnownServer({ workDir: folder, url: place.url }).proofKey).toHaveLength(43);
  await setRows(plane, "workers", { token_hash: "0".repeat(64) }, { id: worker.id });
  plane.context.wakeups.notify("worker", worker.id);
  place.taken(controlPlane);
  await expect(api.heartbeat(beat, 0, forever)).rejects.toMatchObject({ status: 401 });
  expect(refused).toEqual(["revoked"]);
  await api.close();
});

test.each([
  ["does not know the call", "", '{"worker_id":"w"}'],
  ["ends each connection", "connection: close\r\n", "{}"],
  ["responds without a length", "transfer-encoding: chunked\r\nx-", "{}"],
])("a server that never proved itself and %s is used as before", async (_, headers, body) => {
  await using place = await port();
  const { open, token } = await agentAt(place.url);
  const received: string[] = [];
  place.taken(other(received, headers, body));
  const api = open();
  const heard = api.heartbeat(beat, 0, AbortSignal.timeout(5000)).catch((error: unknown) => error);
  await expect.poll(() => received.join("")).toContain(token);
  await api.close();
  await heard;
});

test("a program at ::1 that passes on the proof of a control plane at 127.0.0.1 gets no connection to localhost", async () => {
  const { port: number } = new URL(plane.url);
  let connections = 0;
  const relay = createServer((socket) => {
    connections++;
    controlPlane(socket.on("error", () => undefined));
  }).listen(Number(number), "::1");
  await once(relay, "listening");
  const usual = dns.lookup;
  const both = [
    { address: "::1", family: 6 },
    { address: "127.0.0.1", family: 4 },
  ];
  const spy = vi
    .spyOn(dns, "lookup")
    .mockImplementation(((
      host: string,
      options: dns.LookupAllOptions,
      done: (error: Error | null, found: dns.LookupAddress[]) => void,
    ) => (host === "localhost" ? done(null, both) : usual(host, options, done))) as never);
  const { open, worker } = await agentAt(`http://localhost:${number}`);
  const api = open();
  try {
    expect(await api.heartbeat(beat, 0, forever)).toMatchObject({ worker_id: worker.id });
    expect(connections).toBe(0);
    // Terraform sends its job's token there.
    expect(api.forJob("job", 1).stateAddress("spec")).toBe(
      `http://127.0.0.1:${number}/api/state/spec`,
    );
  } finally {
    spy.mockRestore();
    await api.close();
    relay.close();
  }
});
