/**
 * The start time of the client: `windlass --version` and `windlass jobs list`, compared with bare
 * Node and with Node that loads undici, which an HTTP client needs. All alternate in one run, and
 * the medians and their ratios are printed. `jobs list` calls a server that responds at once with
 * no jobs.
 */
import { createServer } from "node:http";
import { once } from "node:events";
import { execa } from "execa";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const rounds = Number(process.argv[2] ?? 25);
const root = join(import.meta.dirname, "..");
const main = join(root, "main.ts");
const directory = mkdtempSync(join(tmpdir(), "cli-start-"));
const server = createServer((_, response) => {
  response.setHeader("content-type", "application/json").end('{"jobs":[],"next_cursor":null}');
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as { port: number };
const env = {
  PATH: process.env["PATH"] ?? "",
  NODE_COMPILE_CACHE: join(directory, "cache"),
  WINDLASS_CONFIG_DIR: directory,
  WINDLASS_URL: `http://127.0.0.1:${port}`,
  WINDLASS_TOKEN: "bench",
};

const candidates: Record<string, string[]> = {
  "bare node": ["--eval", ""],
  "windlass --version": [main, "--version"],
  "node with undici": ["--input-type=module", "--eval", 'import "undici"'],
  "windlass jobs --help": [main, "jobs", "--help"],
  "windlass jobs list": [main, "jobs", "list", "--json"],
};
const times = new Map(Object.keys(candidates).map((name) => [name, [] as number[]]));
for (let round = -1; round < rounds; round++) {
  for (const [name, words] of Object.entries(candidates)) {
    const begun = performance.now();
    const { exitCode, stderr } = await execa(process.execPath, words, {
      cwd: root,
      env,
      extendEnv: false,
      reject: false,
    });
    if (exitCode !== 0) throw new Error(`${name} ended with ${exitCode}: ${stderr}`);
    // The first round fills the caches.
    if (round >= 0) times.get(name)?.push(performance.now() - begun);
  }
}
server.close();
rmSync(directory, { recursive: true });

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const bare = median(times.get("bare node") ?? []);
console.log(`${rounds} rounds, medians`);
for (const [name, values] of times) {
  const value = median(values);
  console.log(
    `${name.padEnd(22)} ${value.toFixed(0).padStart(6)} ms  ${(value / bare).toFixed(2)} x bare node`,
  );
}
