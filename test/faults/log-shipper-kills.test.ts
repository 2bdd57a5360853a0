import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { redactorOf } from "../../common/redaction/redactor.ts";
import { startLogServer, type LogServer } from "../agent/logs/log-server.ts";
import { seeded } from "../helpers/plane/hostile-values.ts";
import { proving } from "../helpers/project/proving.ts";
import { scratch } from "../helpers/agent/agent-process.ts";

const seeds = proving ? 200 : 3;
const secret = "s3cr3t-välue";

/** Writes as terraform does: pieces of any size, cut anywhere, sometimes many lines at once. */
async function writeRuns(directory: string, random: () => number): Promise<void> {
  for (const run of ["01-init", "02-plan", "03-apply"]) {
    const folder = join(directory, "runs", run);
    mkdirSync(folder, { recursive: true });
    for (let line = 0; line < 40; line++) {
      const times = random() < 0.1 ? 3000 : 1;
      const text = Buffer.from(
        `${run} ${line} ä🚀 ${random() < 0.5 ? secret : ""}\n`.repeat(times),
      );
      const cut = Math.floor(random() * text.length);
      const file = join(folder, random() < 0.3 ? "stderr" : "stdout");
      appendFileSync(file, text.subarray(0, cut));
      if (random() < 0.5) await sleep(random() * 20);
      appendFileSync(file, text.subarray(cut));
      await sleep(random() * 30);
    }
    writeFileSync(join(folder, "exit"), "0\n");
  }
}

interface Part {
  system?: string;
  STDOUT: string;
  STDERR: string;
}

/** The log as it must arrive, one part for each system line and each run. */
function expected(directory: string): Part[] {
  const redactor = redactorOf([secret]);
  return readFileSync(join(directory, "log.ndjson"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.includes('"ended"'))
    .map((line) => {
      const source = JSON.parse(line) as { system?: string; run: string };
      if (source.system !== undefined) return { system: source.system, STDOUT: "", STDERR: "" };
      const read = (name: string): string =>
        redactor.redact(readFileSync(join(directory, "runs", source.run, name)));
      return { STDOUT: read("stdout"), STDERR: read("stderr") };
    });
}

function received(server: LogServer): Part[] {
  const parts: Part[] = [];
  for (const { stream_type, log_chunk } of server.chunks) {
    if (stream_type === "SYSTEM") {
      parts.push({ system: log_chunk.trimEnd(), STDOUT: "", STDERR: "" });
      continue;
    }
    let last = parts.at(-1);
    if (!last || last.system !== undefined) parts.push((last = { STDOUT: "", STDERR: "" }));
    last[stream_type] += log_chunk;
  }
  return parts;
}

describe("a log shipper that is killed and restarted", () => {
  test.each(Array.from({ length: seeds }, (_, seed) => seed))(
    "sends each byte once and in order (seed %i)",
    async (seed) => {
      const random = seeded(seed);
      using place = scratch();
      const directory = place.path;
      const server = await startLogServer();
      server.gapWait = 50;
      server.fault = async (_, response) => {
        await sleep(random() * 20);
        // The chunks are stored, but the response is lost.
        if (random() < 0.1) response.end = () => response.destroy();
        return false;
      };
      let isWritten = false;
      const written = writeRuns(directory, random).then(() => (isWritten = true));
      let kills = 0;
      try {
        for (;;) {
          const child = spawn(
            process.execPath,
            [join(import.meta.dirname, "shipping-process.ts"), directory, server.url, secret],
            { stdio: ["ignore", "ignore", "inherit"] },
          );
          const exited = once(child, "exit");
          if (isWritten && random() < 0.5) {
            expect(await exited).toEqual([0, null]);
            break;
          }
          await Promise.race([exited, sleep(150 + random() * 450)]);
          if (child.exitCode === null) kills++;
          child.kill("SIGKILL");
          await exited;
        }
        await written;
        expect(server.chunks.map(({ seq }) => seq)).toEqual(server.chunks.map((_, n) => n + 1));
        expect(received(server)).toEqual(expected(directory));
        expect(kills).toBeGreaterThan(0);
      } finally {
        await written;
        await server.close();
      }
    },
  );
});
