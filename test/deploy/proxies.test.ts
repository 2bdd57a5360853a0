/** The files for reverse proxies allow what the server allows. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { debugLogLimit, planArtifactLimit, stateLimit } from "../../protocol/limits.ts";
import { root } from "../helpers/project/source-files.ts";

/** Seconds that a claim or a heartbeat may wait (docs/limits.md). */
const longestWait = 30;
const largestBody = Math.max(debugLogLimit, planArtifactLimit, stateLimit);
const read = (name: string): string => readFileSync(join(root, "deploy", name), "utf8");

test.each([
  ["nginx.conf", /client_max_body_size (\d+)m;/, 1024 * 1024, /proxy_read_timeout (\d+)s;/],
  ["Caddyfile", /max_size (\d+)MB/, 1_000_000, /response_header_timeout (\d+)s/],
])("%s accepts the largest body, the longest wait and event streams", (name, body, unit, wait) => {
  const text = read(name);
  expect(Number(body.exec(text)?.[1]) * unit).toBeGreaterThan(largestBody);
  expect(Number(wait.exec(text)?.[1])).toBeGreaterThan(2 * longestWait);
  expect(text).toMatch(/proxy_buffering off;|flush_interval -1/);
});

test("haproxy.cfg accepts the longest wait; HAProxy limits no body and buffers no response", () => {
  const waits = [...read("haproxy.cfg").matchAll(/timeout (?:client|server) (\d+)s/g)];
  expect(waits).toHaveLength(2);
  for (const [, seconds] of waits) expect(Number(seconds)).toBeGreaterThan(2 * longestWait);
});
