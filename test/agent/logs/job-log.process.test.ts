import { execFile } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readIfExists } from "../../../common/files.ts";
import { punchHole } from "../../../agent/machine/files.ts";
import { openJobLog, type JobLog, type JobLogOptions } from "../../../agent/logs/job-log.ts";
import { usualTiming, type Timing } from "../../../agent/logs/shipper.ts";
import { proving } from "../../helpers/project/proving.ts";
import { problem, sinkTo, startLogServer, type LogServer } from "./log-server.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";

const never = new Promise<void>(() => undefined);
const quick: Timing = { ...usualTiming, retry: { first: 20, most: 100 } };

let directory: string;
let server: LogServer;
let log: JobLog | undefined;
let reported: { statuses: string[]; refusals: unknown[] };

folderForEachTest((path) => {
  directory = path;
});
beforeEach(async () => {
  server = await startLogServer();
  reported = { statuses: [], refusals: [] };
});
afterEach(async () => {
  await log?.close();
  log = undefined;
  await server.close();
});

async function open(more: Partial<JobLogOptions> = {}, timing = quick): Promise<JobLog> {
  await log?.close();
  log = await openJobLog(
    {
      directory,
      sink: sinkTo(server.url),
      secrets: [],
      batching: true,
      onJobStatus: (status) => void reported.statuses.push(status),
      onGiveUp: (error) => void reported.refusals.push(error),
      ...more,
    },
    timing,
  );
  return log;
}

function write(run: string, stream: "stdout" | "stderr", content: string | Buffer): void {
  mkdirSync(join(directory, "runs", run), { recursive: true });
  appendFileSync(join(directory, "runs", run, stream), content);
}

/** Resolves when the condition holds. The time limit of the test ends a wait in vain. */
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await sleep(5);
};

const shipped = (): string => readIfExists(join(directory, "shipped.ndjson")) ?? "";

const shown = (): [string, string][] =>
  server.chunks.map(({ stream_type, log_chunk }) => [stream_type, log_chunk]);

describe("a job's log", () => {
  test("arrives in order: system lines before, between and after the output of the runs", async () => {
    const log = await open();
    log.system("hello");
    write("01-init", "stdout", "init out\n");
    write("01-init", "stderr", "init err\n");
    log.run("01-init", Promise.resolve());
    log.system("between");
    write("02-plan", "stdout", "no newline at the end");
    log.run("02-plan", Promise.resolve());
    log.system("bye");
    expect(await log.drained()).toBe(6);
    expect(server.chunks.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(shown()).toEqual([
      ["SYSTEM", "hello\n"],
      ["STDOUT", "init out\n"],
      ["STDERR", "init err\n"],
      ["SYSTEM", "between\n"],
      ["STDOUT", "no newline at the end"],
      ["SYSTEM", "bye\n"],
    ]);
  });

  test("marks the start of a step on its system line, and its end on an empty chunk", async () => {
    const log = await open();
    log.system("terraform 1.14.1: plan", "plan");
    write("01-plan", "stdout", "planned\n");
    log.run("01-plan", Promise.resolve());
    log.stepEnded("plan");
    log.system("SUCCESS");
    await log.drained();
    const at = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) as string;
    expect(shown()).toEqual([
      ["SYSTEM", "terraform 1.14.1: plan\n"],
      ["STDOUT", "planned\n"],
      ["SYSTEM", ""],
      ["SYSTEM", "SUCCESS\n"],
    ]);
    expect(server.chunks.map(({ step }) => step)).toEqual([
      { name: "plan", event: "started", at },
      undefined,
      { name: "plan", event: "ended", at },
      undefined,
    ]);
  });

  test("sends an unacknowledged step again under the same number after a restart", async () => {
    const refused = await open({ sink: { appendLogs: () => Promise.reject(new TypeError()) } });
    refused.system("terraform 1.14.1: plan", "plan");
    refused.stepEnded("plan");
    await until(() => shipped().includes('"seq":2'));
    const log = await open();
    await log.drained();
    expect(server.chunks.map(({ seq, step }) => [seq, step?.event])).toEqual([
      [1, "started"],
      [2, "ended"],
    ]);
  });

  test("sends no steps to a server without batching", async () => {
    const log = await open({ batching: false });
    log.system("terraform 1.14.1: plan", "plan");
    log.stepEnded("plan");
    expect(await log.drained()).toBe(1);
    expect(shown()).toEqual([["SYSTEM", "terraform 1.14.1: plan\n"]]);
    expect(server.chunks[0]).not.toHaveProperty("step");
  });

  test("a run that was over before it was read has printed nothing later, and its step has ended then", async () => {
    const over = new Date(Date.now() - 30_000);
    const first = await open();
    first.system("terraform 1.14.1: apply", "apply");
    first.run("08-apply", never);
    await until(() => server.chunks.length === 1);
    await first.close();
    write("08-apply", "stdout", applied.join(""));
    const ofApply = join(directory, "runs", "08-apply");
    const log = await open({ exitTime: (run) => (run === ofApply ? over : undefined) });
    log.run("08-apply", Promise.resolve());
    log.stepEnded("apply", over);
    log.stepEnded("later", new Date(Date.now() + 3_600_000));
    await log.drained();
    const at = over.toISOString();
    const resources = server.chunks.flatMap(({ resource }) => (resource ? [resource.at] : []));
    expect(resources).toEqual([at, at, at]);
    const [, ended, later] = server.chunks.flatMap(({ step }) => (step ? [step] : []));
    expect(ended).toEqual({ name: "apply", event: "ended", at });
    expect(Date.parse(later?.at ?? "")).toBeLessThanOrEqual(Date.now() + 1000);
  });

  const applied = [
    "Plan: 2 to add\n",
    "a.b: Creating...\n",
    "a.b: Still creating... [10s elapsed]\n",
    "a.c: Creating...\n",
    "a.b: Creation complete after 11s [id=1]\n",
    "the end\n",
  ];
  const appliedError = "╷\n│ Error: bad\n│ \n│   with a.c,\n│   on main.tf line 6:\n│ \n╵\n";

  test("marks the chunks that begin with a change of a resource, and changes no byte of the log", async () => {
    const log = await open();
    write("08-apply", "stdout", applied.join(""));
    write("08-apply", "stderr", `${appliedError}╷\n│ Error: other\n╵\n`);
    log.run("08-apply", Promise.resolve());
    await log.drained();
    expect(server.text("STDOUT")).toBe(applied.join(""));
    const at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    const [b, c] = ["a.b", "a.c"].map((address) => ({ address, action: "create", at }));
    expect(server.chunks.map(({ log_chunk, resource }) => [log_chunk, resource])).toEqual([
      ["Plan: 2 to add\n", undefined],
      [`${applied[1]}${applied[2]}`, { ...b, event: "started" }],
      [applied[3], { ...c, event: "started" }],
      [`${applied[4]}${applied[5]}`, { ...b, event: "ended", elapsed_seconds: 11 }],
      [appliedError, { ...c, event: "failed" }],
      ["╷\n│ Error: other\n╵\n", undefined],
    ]);
    expect(server.posts.length).toBe(1);
  });

  test("marks only an apply, no more than 4000 times, and not for a server without batching", async () => {
    const log = await open();
    write("05-plan", "stdout", applied.join(""));
    log.run("05-plan", Promise.resolve());
    const many = Array.from(
      { length: 2500 },
      (_, index) => `a.b[${index}]: Creating...\na.b[${index}]: Creation complete after 0s\n`,
    ).join("");
    write("06-apply", "stdout", many);
    log.run("06-apply", Promise.resolve());
    await log.drained();
    expect(server.text()).toBe(applied.join("") + many);
    expect(server.chunks[0]).not.toHaveProperty("resource");
    const marked = server.chunks.filter(({ resource }) => resource).length;
    expect(marked).toBeGreaterThan(3900);
    expect(marked).toBeLessThanOrEqual(4001);
    expect(server.posts.length).toBeLessThan(100);
    await log.close();
    rmSync(directory, { recursive: true });
    mkdirSync(directory);
    server.chunks = [];
    const plain = await open({ batching: false });
    write("06-apply", "stdout", applied.join(""));
    plain.run("06-apply", Promise.resolve());
    await plain.drained();
    expect(shown()).toEqual([["STDOUT", applied.join("")]]);
  });

  test("sends an unacknowledged mark of a resource again unchanged after a restart", async () => {
    write("08-apply", "stdout", applied.join(""));
    const refused = await open({ sink: { appendLogs: () => Promise.reject(new TypeError()) } });
    refused.run("08-apply", never);
    await until(() => shipped().includes('"seq":4'));
    const before = shipped().match(/"resource":\{[^}]*\}/g);
    expect(before).toHaveLength(3);
    const log = await open();
    write("08-apply", "stderr", appliedError);
    log.run("08-apply", Promise.resolve());
    await log.drained();
    const events = server.chunks.flatMap(({ resource }) => (resource ? [resource] : []));
    expect(events.slice(0, 3).map((one) => `"resource":${JSON.stringify(one)}`)).toEqual(before);
    expect(events[3]).toMatchObject({ address: "a.c", action: "create", event: "failed" });
  });

  test("is empty for a job without output and for a run that never started", async () => {
    const log = await open();
    expect(await log.drained()).toBe(0);
    log.run("01-init", Promise.resolve());
    expect(await log.drained()).toBe(0);
    expect(server.posts).toEqual([]);
  });

  test("is sent while the run continues: the first line at once, later ones at the pace", async () => {
    const log = await open();
    log.run("01-apply", never);
    await sleep(20);
    const started = performance.now();
    write("01-apply", "stdout", "first\n");
    await until(() => server.text() === "first\n");
    // Without notifications from the file system, the next look at the files would be a second
    // away.
    expect(performance.now() - started).toBeLessThan(500);
    for (let line = 0; line < 30; line++) {
      write("01-apply", "stdout", `${line}\n`);
      await sleep(10);
    }
    await until(() => server.text().endsWith("29\n"));
    const times = server.chunks.map(({ at }) => at);
    // The pace limits when posts start. Their arrival varies on a busy machine, so the mean is
    // compared.
    const between = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / (times.length - 1);
    expect(times.length).toBeGreaterThan(2);
    expect(between).toBeGreaterThan(80);
  });

  test("is sent in fewer posts after it has grown steadily for long", async () => {
    const log = await open({}, { ...quick, pace: 1, steadyPace: 200 });
    log.run("01-apply", never);
    const started = performance.now();
    for (let line = 0; performance.now() - started < 4000; line++) {
      write("01-apply", "stdout", `${line}\n`);
      await sleep(2);
    }
    const most = 300 + (performance.now() - started) / 200;
    expect(server.posts.length).toBeLessThanOrEqual(most + 2);
  });

  test("shows a line that may end in the start of a secret before more is printed", async () => {
    const log = await open({ secrets: ["s3cr3t-token"] }, { ...quick, poll: 60_000 });
    log.run("01-apply", never);
    const started = performance.now();
    write("01-apply", "stdout", "waiting s");
    await until(() => server.text() === "waiting s");
    expect(performance.now() - started).toBeGreaterThan(190);
    write("01-apply", "stdout", "ing s3cr3");
    await until(() => server.text() === "waiting sing s3cr3");
    write("01-apply", "stdout", "t-token\nover: s3cr3t");
    await until(() => server.text() === "waiting sing s3cr3***\nover: ");
    // Six bytes or more of a secret wait until it is known what they are.
    await sleep(300);
    expect(server.text()).toBe("waiting sing s3cr3***\nover: ");
  });

  test("masks the rest of a secret in a chunk that is sent again after a restart", async () => {
    const first = await open({ secrets: ["s3cr3t-token"] });
    first.run("01-apply", never);
    write("01-apply", "stdout", "token: s3c");
    await until(() => server.text() === "token: s3c");
    await open({
      secrets: ["s3cr3t-token"],
      sink: { appendLogs: () => Promise.reject(new TypeError()) },
    });
    log?.run("01-apply", never);
    write("01-apply", "stdout", "r3t-token\n");
    await until(() => shipped().includes('"seq":3'));
    const last = await open({ secrets: ["s3cr3t-token"] });
    last.run("01-apply", Promise.resolve());
    await last.drained();
    expect(server.text()).toBe("token: s3c***\n");
  });

  test("sends no output while it is withheld, also none that an earlier process has cut", async () => {
    const first = await open({ sink: { appendLogs: () => Promise.reject(new TypeError()) } });
    first.system("started");
    write("01-apply", "stdout", "cut before\n");
    first.run("01-apply", never);
    await until(() => shipped().includes('"seq":2'));
    const log = await open({ isWithheld: true });
    log.run("01-apply", Promise.resolve());
    write("01-apply", "stdout", "and after\n");
    log.system("ended");
    await log.drained();
    expect(shown()).toEqual([
      ["SYSTEM", "started\n"],
      ["STDOUT", ""],
      ["SYSTEM", expect.stringContaining("[10 bytes of the output of 01-apply are held back")],
      ["SYSTEM", "ended\n"],
    ]);
  });

  test("sends a later system line only after the run has ended", async () => {
    const log = await open();
    const end = Promise.withResolvers<void>();
    log.run("01-apply", end.promise);
    write("01-apply", "stdout", "one\n");
    log.system("stopping");
    await until(() => server.chunks.length === 1);
    write("01-apply", "stdout", "two\n");
    end.resolve();
    await log.drained();
    expect(server.text()).toBe("one\ntwo\nstopping\n");
  });

  test("never splits a character, even when output arrives byte by byte", async () => {
    const log = await open({}, { ...quick, pace: 0 });
    const end = Promise.withResolvers<void>();
    log.run("01-apply", end.promise);
    const whole = Buffer.from("aä€🚀é\xff");
    for (const byte of [...whole, 0xe2, 0x82]) {
      const before = server.chunks.length;
      write("01-apply", "stdout", Buffer.from([byte]));
      await Promise.race([sleep(30), until(() => server.chunks.length > before)]);
    }
    end.resolve();
    await log.drained();
    expect(server.text()).toBe(`${whole.toString()}\ufffd`);
    expect(server.chunks.length).toBeGreaterThan(4);
  });

  test("keeps colours, CR and NUL, and replaces bytes that are not UTF-8", async () => {
    const log = await open();
    const odd = [
      Buffer.from("\u001b[31mred\u001b[0m plain\none\rtwo\rthree\nbad utf8: "),
      Buffer.from([0xff, 0xfe, 0x0a]),
      Buffer.from(`nul: [\0]\nemoji: 🚀\n${"x".repeat(60_000)}\nno newline at the end`),
    ];
    write("01-apply", "stdout", Buffer.concat(odd));
    log.run("01-apply", Promise.resolve());
    await log.drained();
    expect(server.text()).toBe(Buffer.concat(odd).toString());
  });

  test("is complete for 100,000 lines in both streams, in few posts of whole lines", async () => {
    const log = await open();
    const end = Promise.withResolvers<void>();
    log.run("01-apply", end.promise);
    const lines = Array.from({ length: 100_000 }, (_, n) => `line ${n} the quick brown fox\n`);
    for (let at = 0; at < lines.length; at += 10_000) {
      write("01-apply", "stdout", lines.slice(at, at + 10_000).join(""));
      write("01-apply", "stderr", `so far ${at}\n`);
      await sleep(5);
    }
    end.resolve();
    const last = await log.drained();
    expect(server.text("STDOUT")).toBe(lines.join(""));
    expect(server.text("STDERR").match(/so far/g)).toHaveLength(10);
    expect(last).toBe(server.chunks.length);
    expect(server.posts.length).toBeLessThan(60);
    for (const { log_chunk } of server.chunks) expect(log_chunk.endsWith("\n")).toBe(true);
  });

  test("sends stderr while stdout keeps growing", async () => {
    const log = await open();
    const end = Promise.withResolvers<void>();
    log.run("01-apply", end.promise);
    write("01-apply", "stderr", "error\n");
    let isSeen = false;
    for (let n = 0; !isSeen; n++) {
      write("01-apply", "stdout", "x".repeat(300_000));
      await sleep(1);
      isSeen = server.text("STDERR") === "error\n";
    }
    end.resolve();
    await log.drained();
  });

  test("masks secrets in output and system lines, and added secrets from then on", async () => {
    const log = await open({ secrets: ["first-secret"] });
    log.system("it is first-secret");
    const end = Promise.withResolvers<void>();
    log.run("01-apply", end.promise);
    write("01-apply", "stdout", "a first-sec");
    await until(() => server.text().endsWith("a "));
    write("01-apply", "stdout", "ret b");
    await until(() => server.text().endsWith(" b"));
    log.addSecrets(["second-secret"]);
    write("01-apply", "stdout", " second-secret first-secret\n");
    end.resolve();
    await log.drained();
    expect(server.text()).toBe("it is ***\na *** b *** ***\n");
  });
});

describe("posts", () => {
  test("have several chunks and are at most two at a time with batching", async () => {
    server.fault = async () => {
      await sleep(20);
      return false;
    };
    const log = await open();
    write("01-apply", "stdout", "0123456789\n".repeat(200_000));
    log.run("01-apply", Promise.resolve());
    await log.drained();
    expect(server.mostOpen).toBe(2);
    expect(Math.max(...server.posts.map((chunks) => chunks.length))).toBe(8);
    for (const { log_chunk } of server.chunks) {
      expect(log_chunk.length).toBeLessThanOrEqual(32 * 1024);
    }
  });

  test("have one chunk and are one at a time without batching", async () => {
    server.fault = async () => {
      await sleep(5);
      return false;
    };
    const log = await open({ batching: false });
    write("01-apply", "stdout", "0123456789\n".repeat(50_000));
    log.run("01-apply", Promise.resolve());
    log.system("bye");
    await log.drained();
    expect(server.mostOpen).toBe(1);
    expect(new Set(server.posts.map((chunks) => chunks.length))).toEqual(new Set([1]));
    expect(server.text()).toBe(`${"0123456789\n".repeat(50_000)}bye\n`);
  });

  test.each([
    ["500", (_, response) => problem(response, 500)],
    ["429", (_, response) => problem(response, 429)],
    ["408", (_, response) => problem(response, 408)],
    ["a reset", (_, response) => response.destroy()],
    [
      "half a response",
      (_, response) => response.writeHead(201, { "content-length": 50 }).write("{"),
    ],
    ["no response", () => undefined],
  ] as [string, (post: number, response: ServerResponse) => void][])(
    "are repeated after %s until they succeed",
    async (_, fail) => {
      server.fault = (post, response) => {
        const isBad = post % 3 !== 0;
        if (isBad) fail(post, response);
        return isBad;
      };
      const log = await open({}, { ...quick, patience: 100 });
      const text = "0123456789\n".repeat(60_000);
      log.system("hello");
      write("01-apply", "stdout", text);
      log.run("01-apply", Promise.resolve());
      log.system("bye");
      await log.drained();
      expect(server.text()).toBe(`hello\n${text}bye\n`);
      expect(reported.refusals).toEqual([]);
    },
  );

  test("are stored once when their response is lost", async () => {
    let lost = 0;
    server.fault = (post, response) => {
      if (post % 2 === 0) return false;
      const { end } = response;
      // The chunks are stored, but the response is lost.
      response.end = () => {
        lost++;
        response.destroy();
        response.end = end;
        return response;
      };
      return false;
    };
    const log = await open();
    const text = "0123456789\n".repeat(100_000);
    write("01-apply", "stdout", text);
    log.run("01-apply", Promise.resolve());
    await log.drained();
    expect(lost).toBeGreaterThan(0);
    expect(server.text()).toBe(text);
  });

  test("are repeated when they arrive before their predecessor", async () => {
    server.gapWait = 100;
    server.fault = async (post, response) => {
      if (post !== 1) return false;
      await sleep(200);
      problem(response, 500);
      return true;
    };
    const log = await open();
    const text = "0123456789\n".repeat(60_000);
    write("01-apply", "stdout", text);
    log.run("01-apply", Promise.resolve());
    await log.drained();
    expect(server.text()).toBe(text);
  });

  test("send chunks again that the server has lost", async () => {
    server.gapWait = 50;
    const log = await open({}, { ...quick, pace: 0 });
    for (let line = 1; line <= 20; line++) {
      log.system(`line ${line}`);
      await until(() => server.chunks.length === line);
    }
    server.chunks = server.chunks.slice(0, 4);
    log.system("after the loss");
    await log.drained();
    expect(server.text()).toBe(
      `${Array.from({ length: 20 }, (_, n) => `line ${n + 1}\n`).join("")}after the loss\n`,
    );
  });

  test.each([
    [409, "not_job_holder"],
    [404, "not_found"],
    [400, "invalid_request"],
    [413, "payload_too_large"],
  ])("are not repeated after %i %s", async (status, code) => {
    server.fault = (_, response) => {
      problem(response, status, { code });
      return true;
    };
    const log = await open();
    log.system("hello");
    await expect(log.drained()).rejects.toMatchObject({ status, code });
    expect(reported.refusals).toHaveLength(1);
    log.system("more");
    await expect(log.drained()).rejects.toMatchObject({ status });
    await sleep(50);
    expect(server.posts).toHaveLength(1);
  });

  test("return the job's status", async () => {
    server.jobStatus = "CANCELLED";
    const log = await open();
    log.system("hello");
    await log.drained();
    expect(reported.statuses).toEqual(["CANCELLED"]);
  });

  test("never block the writer while the server does not respond", async () => {
    server.fault = () => true;
    const log = await open();
    const end = Promise.withResolvers<void>();
    log.run("01-apply", end.promise);
    mkdirSync(join(directory, "runs", "01-apply"), { recursive: true });
    // The writer ends although nothing of its output is accepted.
    await promisify(execFile)("sh", [
      "-c",
      `head -c 50000000 /dev/zero > "$1/stdout"`,
      "sh",
      join(directory, "runs", "01-apply"),
    ]);
    expect(server.posts.length).toBeLessThanOrEqual(2);
    end.resolve();
  });
});

describe("the volume limit", () => {
  test("drops the output above it and reports the exact number of bytes", async () => {
    const log = await open({ volumeLimit: 100_000 });
    const output = "äbcdefghij\n".repeat(20_000);
    write("01-apply", "stdout", output);
    write("01-apply", "stderr", "the error\n");
    log.run("01-apply", Promise.resolve());
    log.system("bye");
    await log.drained();
    const stored = server.text("STDOUT");
    expect(output.startsWith(stored)).toBe(true);
    const size = Buffer.byteLength(stored);
    expect(size).toBeGreaterThan(99_990);
    expect(size).toBeLessThanOrEqual(100_000);
    const dropped = Buffer.byteLength(output) + "the error\n".length - size;
    expect(server.text("SYSTEM")).toMatch(new RegExp(`^\\[${dropped} bytes of .*\\]\nbye\n$`));
  });

  test("frees the disk space of dropped output, also while the server is away", async ({
    skip,
  }) => {
    const probe = join(directory, "probe");
    writeFileSync(probe, Buffer.alloc(64 * 1024));
    if (!(await punchHole(probe, 0, 64 * 1024))) return skip("the file system cannot punch holes");
    const taken = (): number =>
      statSync(join(directory, "runs", "01-apply", "stdout")).blocks * 512;
    const mebibyte = 1024 * 1024;
    write("01-apply", "stdout", Buffer.alloc(20 * mebibyte, "x"));
    server.fault = (_, response) => {
      problem(response, 503);
      return true;
    };
    const end = Promise.withResolvers<void>();
    const log = await open({ volumeLimit: mebibyte });
    log.run("01-apply", end.promise);
    await until(() => taken() < 4 * mebibyte);
    write("01-apply", "stdout", Buffer.alloc(20 * mebibyte, "y"));
    await until(() => taken() < 6 * mebibyte);
    server.fault = () => false;
    end.resolve();
    await log.drained();
    expect(server.text("STDOUT")).toBe("x".repeat(mebibyte));
    expect(server.text("SYSTEM")).toContain(`[${39 * mebibyte} bytes of the output of 01-apply`);
  });

  test("continues its count after a restart", async () => {
    const first = await open({ volumeLimit: 1000 });
    first.run("01-plan", never);
    write("01-plan", "stdout", "x".repeat(600));
    await until(() => server.text().length === 600);
    const second = await open({ volumeLimit: 1000 });
    write("01-plan", "stdout", "y".repeat(600));
    second.run("01-plan", Promise.resolve());
    await second.drained();
    expect(server.text("STDOUT")).toBe("x".repeat(600) + "y".repeat(400));
    expect(server.text("SYSTEM")).toMatch(/^\[200 bytes/);
    const third = await open({ volumeLimit: 1000 });
    expect(await third.drained()).toBe(server.chunks.length);
    expect(server.text("SYSTEM").match(/bytes of the/g)).toHaveLength(1);
  });
});

describe("a log that is opened again", () => {
  test("continues after the sent output, with the next number", async () => {
    const first = await open();
    first.system("one");
    first.run("01-apply", never);
    write("01-apply", "stdout", "two\n");
    await until(() => server.chunks.length === 2);
    const second = await open();
    write("01-apply", "stdout", "three\n");
    second.run("01-apply", Promise.resolve());
    second.system("four");
    expect(await second.drained()).toBe(4);
    expect(server.text()).toBe("one\ntwo\nthree\nfour\n");
  });

  test("sends unacknowledged chunks again under the same numbers", async () => {
    server.fault = () => true;
    const first = await open({ secrets: ["secret-value"] });
    first.system("one");
    first.run("01-apply", never);
    write("01-apply", "stdout", "two secret-value\n");
    await until(() => server.posts.flat().length === 2);
    server.fault = () => false;
    const second = await open({ secrets: ["secret-value"] });
    await until(() => server.chunks.length === 2);
    expect(server.text()).toBe("one\ntwo ***\n");
    expect(await second.drained()).toBe(2);
  });

  test("treats an earlier run as ended when a later one starts, or at the end of the log", async () => {
    const first = await open();
    first.run("01-init", never);
    write("01-init", "stdout", "init\n");
    await until(() => server.chunks.length === 1);
    const second = await open();
    second.system("restarted");
    second.run("02-plan", Promise.resolve());
    write("02-plan", "stdout", "plan\n");
    await until(() => server.text() === "init\nrestarted\nplan\n");
    await second.drained();
    const third = await open();
    third.run("03-apply", never);
    write("03-apply", "stdout", "apply\n");
    await until(() => server.text().endsWith("apply\n"));
    const fourth = await open();
    fourth.system("bye");
    await fourth.drained();
    expect(server.text()).toBe("init\nrestarted\nplan\napply\nbye\n");
  });

  test("drops a line that a crash cut short", async () => {
    const first = await open();
    first.system("one");
    await first.drained();
    appendFileSync(join(directory, "log.ndjson"), '{"system":"tor');
    appendFileSync(join(directory, "shipped.ndjson"), '{"seq":2,"at');
    const second = await open();
    second.system("two");
    expect(await second.drained()).toBe(2);
    expect(server.text()).toBe("one\ntwo\n");
  });

  /** Writes the record of an agent of an earlier version: a short line in each of these posts. */
  function writeRecord(posts: number): string {
    write("01-apply", "stdout", "");
    writeFileSync(join(directory, "log.ndjson"), '{"run":"01-apply"}\n');
    const path = join(directory, "shipped.ndjson");
    for (let first = 1; first <= posts; first += 10_000) {
      const numbers = Array.from(
        { length: Math.min(10_000, posts - first + 1) },
        (_, n) => first + n,
      );
      const lines = numbers.map((seq) => {
        const range = { from: 20 * (seq - 1), to: 20 * seq };
        return `${JSON.stringify({ seq, at: 0, stream: "STDOUT", ...range })}\n{"ack":${seq}}\n`;
      });
      appendFileSync(path, lines.join(""));
    }
    return path;
  }
  const day = 10 * 24 * 3600;

  test("after days of steady output needs little memory, and makes its record small", async () => {
    const posts = proving ? 7 * day : day;
    const path = writeRecord(posts);
    expect(statSync(path).size).toBeGreaterThan(70 * posts);
    server.chunks = Array.from({ length: posts }) as typeof server.chunks;
    await promisify(execFile)(process.execPath, [
      "--max-old-space-size=48",
      join(import.meta.dirname, "opening-process.ts"),
      directory,
      server.url,
    ]);
    expect(statSync(path).size).toBeLessThan(2 * 1024 * 1024);
    const said = server.chunks.slice(posts).map(({ seq, log_chunk }) => [seq, log_chunk]);
    expect(said).toEqual([1, 2, 3].map((start) => [posts + start, `start ${start}\n`]));
  });

  test("sends chunks again that the server has lost and whose record was joined", async () => {
    const posts = 20_000;
    const lost = 11_000;
    const path = writeRecord(posts);
    const lines = Array.from({ length: posts }, (_, n) => `${String(n).padStart(19, "0")}\n`);
    write("01-apply", "stdout", lines.join(""));
    server.gapWait = 20;
    server.chunks = lines.slice(0, lost).map((log_chunk) => ({ log_chunk }) as never);
    const log = await open();
    expect(statSync(path).size).toBeLessThan(200_000);
    log.system("after the loss");
    await log.drained();
    expect(server.chunks).toHaveLength(posts + 1);
    const again = server.chunks
      .slice(lost)
      .map(({ log_chunk }) => log_chunk)
      .join("");
    const missing = `${lines.slice(lost).join("")}after the loss\n`;
    expect(again.endsWith(missing)).toBe(true);
    // What is sent twice is at most one full chunk.
    expect(again.length - missing.length).toBeLessThanOrEqual(32 * 1024);
    expect(server.posts.length).toBeLessThan(200);
  });

  test("rejects a wait for its end when it is closed or the wait is aborted", async () => {
    const log = await open();
    log.run("01-apply", never);
    const drained = log.drained().catch((error: unknown) => error);
    await log.close();
    expect(await drained).toMatchObject({ message: "the log was closed" });
    const again = await open();
    again.run("01-apply", never);
    await expect(again.drained(AbortSignal.timeout(20))).rejects.toThrow("timeout");
  });
});
