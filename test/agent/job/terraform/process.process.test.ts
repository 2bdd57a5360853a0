import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { processesOf } from "../../../helpers/machine/processes.ts";
import { needsRoot, smallDisk } from "../../../helpers/machine/small-disk.ts";
import { exitTime, openRun } from "../../../../agent/job/terraform/process.ts";
import { prepareRun, type RunCommand } from "../../../../agent/job/terraform/spawn.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const root = folderForFile();

let runs = 0;
const shell = (script: string, more: Partial<RunCommand> = {}): RunCommand => ({
  directory: join(root, `run-${++runs}`),
  command: "/bin/sh",
  args: ["-c", script],
  cwd: root,
  env: { PATH: process.env["PATH"] ?? "" },
  ...more,
});
const read = (command: RunCommand, name: string): string =>
  readFileSync(join(command.directory, name), "utf8");
const appears = async (path: string): Promise<void> => {
  while (!existsSync(path)) await sleep(10);
};

const printed = async (command: RunCommand): Promise<void> => {
  await appears(join(command.directory, "stdout"));
  while (read(command, "stdout") === "") await sleep(10);
};

describe("openRun", () => {
  test("writes the output and the exit code to files", async () => {
    const command = shell("echo out; echo err >&2; exit 7");
    expect(await openRun(command).ended).toEqual({ kind: "exited", code: 7 });
    expect(read(command, "stdout")).toBe("out\n");
    expect(read(command, "stderr")).toBe("err\n");
  });

  test("notices the end of the command without waiting for the poll", async () => {
    // Polls are a second apart. On a busy machine one of five runs is fast enough to tell.
    const times: number[] = [];
    for (let run = 0; run < 5; run++) {
      const started = performance.now();
      await openRun(shell("true")).ended;
      times.push(performance.now() - started);
    }
    expect(Math.min(...times)).toBeLessThan(500);
  });

  test("gives the command no input, a session of its own and only the given environment", async () => {
    const command = shell("cat; env; ps -o sid= -p $$", { env: { PATH: "/usr/bin:/bin", X: "1" } });
    await openRun(command).ended;
    const names = read(command, "stdout").match(/^\w+(?==)/gm) ?? [];
    expect(
      names.toSorted().filter((name) => !["PWD", "OLDPWD", "_", "SHLVL"].includes(name)),
    ).toEqual(["PATH", "X"]);
    const [stat = ""] = read(command, "started").split("\n");
    expect(read(command, "stdout").trim().split("\n").at(-1)?.trim()).toBe(stat.split(" ")[0]);
  });

  test("passes arguments unchanged, not through a shell", async () => {
    const odd = ["$(touch pwned)", "a b", "'\"`", "-x", "", "*"];
    const command = shell("", { command: "/usr/bin/printf", args: ["<%s>", ...odd] });
    await openRun(command).ended;
    expect(read(command, "stdout")).toBe(odd.map((word) => `<${word}>`).join(""));
    expect(existsSync(join(root, "pwned"))).toBe(false);
  });

  test("runs the command once for several callers", async () => {
    const command = shell("echo ran; sleep 0.2");
    const opened = Array.from({ length: 8 }, () => openRun(command).ended);
    expect(new Set((await Promise.all(opened)).map((end) => end.kind))).toEqual(
      new Set(["exited"]),
    );
    expect((await openRun(command).ended).kind).toBe("exited");
    expect(read(command, "stdout")).toBe("ran\n");
  });

  test("adopts a command whose starting process was killed", async () => {
    const command = shell("echo one; sleep 1; echo two; exit 3");
    const starter = `
      import { openRun } from ${JSON.stringify(join(process.cwd(), "agent/job/terraform/process.ts"))};
      await openRun(${JSON.stringify(command)}).ended;`;
    const parent = spawn(process.execPath, ["--input-type=module-typescript", "-e", starter], {
      stdio: "inherit",
    });
    await appears(join(command.directory, "child"));
    parent.kill("SIGKILL");
    await once(parent, "exit");
    expect(exitTime(command.directory)).toBeUndefined();
    expect(await openRun(command).ended).toEqual({ kind: "exited", code: 3 });
    expect(read(command, "stdout")).toBe("one\ntwo\n");
    // When it ended, not when it was asked for.
    const ended = exitTime(command.directory);
    await sleep(50);
    expect(exitTime(command.directory)).toEqual(ended);
    expect(Math.abs(Date.now() - (ended?.getTime() ?? 0))).toBeLessThan(60_000);
  });

  test("ends with 127 for a missing command and never starts one that cannot be spawned", async () => {
    const missing = shell("", { command: "/nonexistent/terraform", args: [] });
    expect(await openRun(missing).ended).toEqual({ kind: "exited", code: 127 });
    const huge = openRun(shell("true", { env: { X: "x".repeat(200_000) } }));
    expect(await huge.ended).toMatchObject({ kind: "never started", reason: /E2BIG/ });
    const nowhere = openRun(shell("true", { cwd: "/nonexistent" }));
    expect(await nowhere.ended).toMatchObject({ kind: "never started" });
  });

  test("kills the remaining processes of the command's group", async () => {
    const command = shell("sleep 300 & echo $!");
    await openRun(command).ended;
    const left = Number(read(command, "stdout"));
    while (
      existsSync(`/proc/${left}`) &&
      !/^State:\s+Z/m.test(readFileSync(`/proc/${left}/status`, "utf8"))
    ) {
      await sleep(10);
    }
  });
});

describe("the exit code is recorded", () => {
  test("when the whole session gets a signal that the command handles", async () => {
    const command = shell("trap 'exit 5' TERM; touch ready; while :; do sleep 0.05; done");
    const { ended } = openRun(command);
    await appears(join(root, "ready"));
    const [stat = ""] = read(command, "started").split(" ");
    for (const signal of ["SIGHUP", "SIGTERM"] as const) process.kill(Number(stat), signal);
    process.kill(-Number(stat), "SIGTERM");
    expect(await ended).toEqual({ kind: "exited", code: 5 });
  });

  test("when the command has filled the disk", async ({ skip }) => {
    await using disk = await smallDisk(1);
    if (!disk) return skip(needsRoot);
    const command = shell("cat /dev/zero; exit 3", { directory: join(disk.path, "run") });
    expect(await openRun(command).ended).toEqual({ kind: "exited", code: 3 });
    expect(statfsSync(disk.path).bavail).toBe(0);
  });
});

describe("a prepared run", () => {
  test("starts nothing until it is opened", async () => {
    const command = shell("echo ran");
    const prepared = prepareRun(command);
    await sleep(50);
    expect(existsSync(join(command.directory, "started"))).toBe(false);
    expect(await openRun(command, prepared).ended).toEqual({ kind: "exited", code: 0 });
    expect(read(command, "stdout")).toBe("ran\n");
  });

  test("runs nothing after it was cancelled", async () => {
    const command = shell("echo ran");
    const prepared = prepareRun(command);
    prepared.cancel();
    await prepared.gone;
    expect(existsSync(join(command.directory, "started"))).toBe(false);
    expect(await openRun(command).ended).toEqual({ kind: "exited", code: 0 });
    expect(read(command, "stdout")).toBe("ran\n");
  });

  test("runs nothing when its agent is killed", async () => {
    const command = shell("echo ran");
    const module = JSON.stringify(join(process.cwd(), "agent/job/terraform/spawn.ts"));
    const starter = `
      import { prepareRun } from ${module};
      prepareRun(${JSON.stringify(command)});
      console.log("prepared");
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ["--input-type=module-typescript", "-e", starter], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(parent.stdout, "data");
    parent.kill("SIGKILL");
    await once(parent, "exit");
    while (processesOf(command.directory).length > 0) await sleep(10);
    expect(existsSync(join(command.directory, "started"))).toBe(false);
    expect(read(command, "stdout")).toBe("");
  });
});

describe("the outcome", () => {
  test("is unknown when the command's wrapper was killed", async () => {
    const command = shell("kill -9 $PPID; exec sleep 0.1");
    expect(await openRun(command).ended).toEqual({ kind: "unknown" });
  });

  test("is unknown only after a command that outlives its wrapper has ended", async () => {
    const command = shell("kill -9 $PPID; sleep 0.6; touch finished");
    expect(await openRun(command).ended).toEqual({ kind: "unknown" });
    expect(existsSync(join(root, "finished"))).toBe(true);
  });

  test("is unknown when the exit file is empty after a power failure", async () => {
    const command = shell("true");
    await openRun(command).ended;
    writeFileSync(join(command.directory, "code"), "");
    expect(await openRun(command).ended).toEqual({ kind: "unknown" });
  });

  test("is known from the file that the wrapper of an older agent has left", async () => {
    const command = shell("exit 3");
    await openRun(command).ended;
    rmSync(join(command.directory, "code"));
    writeFileSync(join(command.directory, "exit"), "3\n");
    expect(await openRun(command).ended).toEqual({ kind: "exited", code: 3 });
  });

  test("is unknown after a reboot, even if the pid is in use again", async () => {
    const command = shell("true");
    await openRun(command).ended;
    rmSync(join(command.directory, "code"));
    const self = readFileSync("/proc/self/stat", "utf8");
    for (const name of ["started", "child"]) {
      writeFileSync(join(command.directory, name), `${self}another-boot\n`);
    }
    expect(await openRun(command).ended).toEqual({ kind: "unknown" });
  });
});

describe("stop", () => {
  const patience = { first: 5000, second: 5000 };

  test("sends one SIGINT to a command that ends on it", async () => {
    const command = shell("trap 'echo INT; exit 1' INT; echo ready; while :; do sleep 0.05; done");
    const run = openRun(command);
    await printed(command);
    await run.stop(patience, 0);
    expect(await run.ended).toEqual({ kind: "exited", code: 1 });
    expect(read(command, "stdout")).toBe("ready\nINT\n");
  });

  test("ends with SIGKILL for a command that does not end, and records the exit code", async () => {
    const command = shell("trap 'echo INT' INT; echo ready; while :; do sleep 0.02; done");
    const run = openRun(command);
    await printed(command);
    await run.stop({ first: 100, second: 1000 }, 0);
    expect(await run.ended).toEqual({ kind: "exited", code: 137 });
    expect(read(command, "stdout")).toBe("ready\nINT\nINT\n");
  });

  test("continues the stop sequence of an earlier agent without a second first SIGINT", async () => {
    const command = shell("trap 'echo INT' INT; echo ready; while :; do sleep 0.02; done");
    const run = openRun(command);
    await printed(command);
    await run.stop({ first: 50, second: 0 }, 1);
    expect(read(command, "stdout")).toBe("ready\n");
  });

  test("reports each SIGINT before it is sent, and sends no third one", async () => {
    const command = shell("trap 'echo INT' INT; echo ready; while :; do sleep 0.02; done");
    const run = openRun(command);
    await printed(command);
    const seen: string[] = [];
    const onInterrupt = (): void => void seen.push(read(command, "stdout"));
    const first = run.stop({ first: 200, second: 60_000 }, 0, onInterrupt);
    while (read(command, "stdout") !== "ready\nINT\nINT\n") await sleep(10);
    await openRun(command).stop({ first: 60_000, second: 200 }, 2, onInterrupt);
    await first;
    expect(await run.ended).toEqual({ kind: "exited", code: 137 });
    expect(seen).toEqual(["ready\n", "ready\nINT\n"]);
  });

  test("before the start prevents the start, even by a late wrapper", async () => {
    const command = shell("echo ran");
    const first = openRun(command);
    await first.stop(patience, 0);
    const end = await first.ended;
    if (end.kind === "never started") {
      expect(await openRun(command).ended).toMatchObject({ kind: "never started" });
      expect(read(command, "stdout")).toBe("");
    } else {
      expect(end.kind).toBe("exited");
    }
  });
});
