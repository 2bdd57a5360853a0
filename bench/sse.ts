/**
 * The rate of log events to 500 readers, as a ratio to the same
 * bytes written to as many raw TCP sockets with one write per event and socket, and the memory for a
 * reader that stopped reading, after a full collection. The servers are processes of their own. The readers only count
 * bytes.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { request } from "undici";
import { fill, token, type Filled } from "./lib/fill.ts";
import { cpuMicroseconds, startWindlass } from "./lib/processes.ts";
import { signIn } from "./lib/sign-in.ts";
import { median, printTable } from "./lib/table.ts";

const rounds = 5;
const readers = 500;
/** The events of a round. */
const events = 200;
const text = `${"x".repeat(1023)}\n`;
/** So many that what malloc keeps of the pages that were read for them, whatever their number, is small. */
const stalled = 200;

/** On SIGWINCH the server collects all its garbage. */
const collectable = {
  NODE_OPTIONS: "--expose-gc --import=data:text/javascript,process.on('SIGWINCH',()=>{gc();gc()})",
};
let filled!: Filled;
let headers!: Record<string, string>;
const server = await startWindlass(async (directory) => {
  filled = await fill(directory, 0);
  headers = await signIn(directory, filled.idleOwner);
}, collectable);
const { port } = new URL(server.url);
const stream = `/api/jobs/${filled.heldJob}/logs/stream`;

/** The baseline: for `<events> <bytes>` on stdin, writes that many pieces to every socket. */
const program = `
const { createServer } = require("node:net");
const { once } = require("node:events");
const sockets = [];
const server = createServer((socket) => { socket.on("error", () => {}); sockets.push(socket); });
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
require("node:readline").createInterface(process.stdin).on("line", async (line) => {
  const [events, bytes] = line.split(" ").map(Number);
  const piece = Buffer.alloc(bytes, "x");
  for (let event = 0; event < events; event++) {
    const full = sockets.filter((socket) => !socket.write(piece));
    await Promise.all(full.map((socket) => once(socket, "drain")));
    if (event % 8 === 7) await new Promise(setImmediate);
  }
});`;
const raw = spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "inherit"] });
const [rawPort] = (await once(createInterface(raw.stdout), "line")) as [string];

interface Readers {
  /** The bytes of all readers together. */
  bytes(): number;
  close(): void;
}

async function openReaders(to: number, hello: string, count = readers): Promise<Readers> {
  let bytes = 0;
  const sockets: Socket[] = [];
  for (let reader = 0; reader < count; reader++) {
    const socket = connect(to, "127.0.0.1");
    await once(socket, "connect");
    socket.on("data", (data) => (bytes += data.length)).on("error", () => undefined);
    socket.write(hello);
    sockets.push(socket);
  }
  await quiet(() => bytes);
  return { bytes: () => bytes, close: () => sockets.forEach((socket) => socket.destroy()) };
}

/** Waits until a number has not changed for 300 ms. */
async function quiet(value: () => number): Promise<void> {
  for (let last = -1; last !== value(); await pause(300)) last = value();
}

/** Waits until the value reaches the goal. Returns the milliseconds since `started`. */
async function reached(value: () => number, goal: number, started: number): Promise<number> {
  while (value() < goal) await pause(1);
  return performance.now() - started;
}

let seq = 0;
async function post(count: number): Promise<void> {
  const headers = {
    "x-worker-id": filled.idleWorker,
    "x-worker-token": token,
    "content-type": "application/json",
  };
  for (let left = count; left > 0; left -= 8) {
    const chunks = Array.from({ length: Math.min(left, 8) }, () => ({
      log_chunk: text,
      stream_type: "STDOUT",
      seq: ++seq,
    }));
    const response = await request(`${server.url}/api/jobs/${filled.heldJob}/logs`, {
      method: "POST",
      headers,
      body: JSON.stringify({ chunks }),
    });
    if (response.statusCode >= 300) throw new Error(await response.body.text());
    await response.body.dump();
  }
}

/** 20 MB of log. */
async function postMegabytes(): Promise<void> {
  for (let megabyte = 0; megabyte < 20; megabyte++) await post(1000);
}

/** The MiB of the server's memory after a full collection. */
async function resident(): Promise<number> {
  process.kill(server.pid, "SIGWINCH");
  // A request that follows the signal is answered after the collection.
  await pause(200);
  await post(8);
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

const samples: { ratio: number; sse: number; raw: number; cpu: number }[] = [];
let perStalled = NaN;
try {
  const hello = `GET ${stream} HTTP/1.1\r\nhost: bench\r\nauthorization: ${headers["authorization"]}\r\n\r\n`;
  const sse = await openReaders(Number(port), hello);
  const tcp = await openReaders(Number(rawPort), "");
  // The size of a sent event, measured at the readers, without the frame of a write, which may have
  // several events.
  const empty = sse.bytes();
  await post(8);
  await quiet(sse.bytes);
  const eventBytes = Math.floor((sse.bytes() - empty) / 8 / readers) - 8;
  for (let round = 0; round <= rounds; round++) {
    let before = sse.bytes();
    let cpu = cpuMicroseconds(server.pid);
    let started = performance.now();
    await post(events);
    const viaSse = await reached(sse.bytes, before + events * readers * eventBytes, started);
    const sseCpu = cpuMicroseconds(server.pid) - cpu;
    await quiet(sse.bytes);
    before = tcp.bytes();
    cpu = cpuMicroseconds(raw.pid!);
    started = performance.now();
    raw.stdin.write(`${events} ${eventBytes}\n`);
    const viaTcp = await reached(tcp.bytes, before + events * readers * eventBytes, started);
    const rawCpu = cpuMicroseconds(raw.pid!) - cpu;
    // The first round warms up.
    if (round > 0)
      samples.push({ ratio: viaTcp / viaSse, sse: viaSse, raw: viaTcp, cpu: rawCpu / sseCpu });
  }
  sse.close();
  tcp.close();
  await pause(1000);
  // The log itself makes the heap grow, so the same log comes first without readers.
  await postMegabytes();
  const before = await resident();
  const idle: Socket[] = [];
  for (let reader = 0; reader < stalled; reader++) {
    const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined);
    await once(socket, "connect");
    socket.pause();
    socket.write(hello);
    idle.push(socket);
  }
  await pause(500);
  await postMegabytes();
  perStalled = ((await resident()) - before) / stalled;
  idle.forEach((socket) => socket.destroy());
} finally {
  raw.kill();
  await server.stop();
}
const of = (key: "ratio" | "sse" | "raw" | "cpu"): number =>
  median(samples.map((sample) => sample[key]));
const perSecond = (milliseconds: number): string =>
  `${Math.round((events * readers) / milliseconds)}k/s`;
printTable(`Events of 1 KB to ${readers} readers`, [
  {
    row: "14",
    what: "deliveries a second / those of raw TCP",
    value: of("ratio"),
    goal: 0.65,
    better: "larger",
    more: `${perSecond(of("sse"))}, raw ${perSecond(of("raw"))}; CPU of raw / of the server ${of("cpu").toFixed(2)}`,
  },
  {
    row: "18",
    what: `MiB of the server for each of ${stalled} readers that stopped reading, 20 MB behind`,
    value: perStalled,
    goal: 1,
    better: "smaller",
  },
]);
