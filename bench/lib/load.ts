/** A fixed number of requests to one address, and their cost for the server. */
import { setTimeout as pause } from "node:timers/promises";
import autocannon from "autocannon";
import { Pool } from "undici";
import { cpuMicroseconds, type BenchServer } from "./processes.ts";

export interface Load {
  readonly path: string;
  /** Default POST. */
  readonly method?: "POST" | "PUT";
  /** The path of each request, if they differ. */
  readonly paths?: readonly string[];
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** The expected status. Any other fails the bench. */
  readonly status: 200 | 201 | 204;
}

const connections = 32;

/** Sends `amount` requests. Returns the server's CPU microseconds per request. */
export async function cpuPerRequest(
  server: BenchServer,
  load: Load,
  amount: number,
): Promise<number> {
  const before = cpuMicroseconds(server.pid);
  await send(server, load, amount);
  return (cpuMicroseconds(server.pid) - before) / amount;
}

/** Sends requests at a steady rate. Returns the p99 of the response times in milliseconds. */
export async function p99AtRate(
  server: BenchServer,
  { path, headers, body, status }: Load,
  perSecond: number,
  seconds: number,
): Promise<number> {
  const pool = new Pool(new URL(server.url).origin, { connections });
  const address = new URL(`${server.url}${path}`).pathname;
  const times: number[] = [];
  const ask = async () => {
    const start = performance.now();
    const response = await pool.request({
      method: "POST",
      path: address,
      headers: headers ?? {},
      body: body ?? null,
    });
    await response.body.dump();
    times.push(performance.now() - start);
    if (response.statusCode !== status) throw new Error(`${path} returned ${response.statusCode}`);
  };
  const asked: Promise<void>[] = [];
  const begin = performance.now();
  // Paced by the clock, so a slow response does not lower the rate.
  while (asked.length < perSecond * seconds) {
    const due = Math.floor(((performance.now() - begin) / 1000) * perSecond);
    while (asked.length < due) asked.push(ask());
    await pause(1);
  }
  await Promise.all(asked);
  await pool.close();
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
}

async function send(
  server: BenchServer,
  { path, paths, method = "POST", headers, body, status }: Load,
  amount: number,
) {
  let next = 0;
  const result = await autocannon({
    url: `${server.url}${path}`,
    method,
    ...(paths
      ? { requests: [{ setupRequest: (request) => ({ ...request, path: paths[next++]! }) }] }
      : {}),
    connections,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body }),
    amount,
  });
  const wrong = Object.entries(result.statusCodeStats ?? {}).filter(
    ([code]) => Number(code) !== status,
  );
  if (wrong.length > 0 || result.errors > 0)
    throw new Error(`${path}: ${JSON.stringify(result.statusCodeStats)}, ${result.errors} errors`);
}
