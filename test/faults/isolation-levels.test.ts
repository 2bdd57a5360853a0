/** The isolation levels with real users and processes. One that does not work must be refused. */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { pino } from "pino";
import { Contact } from "../../agent/api/contact.ts";
import { chooseIsolation, IsolationMissingError } from "../../agent/job/isolation/choose.ts";
import { type Isolation, type Level } from "../../agent/job/isolation/isolation.ts";
import { freeUser, openIsolation } from "../../agent/job/isolation/open.ts";
import { openLocalStatus, statusSocket } from "../../agent/monitoring/local-status.ts";
import { openRun, type Run } from "../../agent/job/terraform/process.ts";
import type { RunCommand } from "../../agent/job/terraform/spawn.ts";
import { type Workspace } from "../../agent/job/workspace.ts";
import { skipAt } from "../helpers/project/tools.ts";
import {
  isolationSettings,
  levelsHere,
  skipAbsentLevels,
  wipe,
} from "../helpers/agent/isolation.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { newWorkspace } from "../helpers/machine/workspaces.ts";

const place = folderForFile();
const workDir = join(place, "work");
const settings = isolationSettings(workDir);
const { working, lacking } = await levelsHere();
skipAbsentLevels(lacking);
const strongest = (await chooseIsolation(settings)).level;
/** The levels that protect the agent from a job. */
const protective = working.filter((level) => level !== "process");

interface Job {
  readonly workspace: Workspace;
  readonly isolation: Isolation;
  readonly user: number | undefined;
  run(script: string, env?: Record<string, string>): Run & { readonly command: RunCommand };
  output(run: { command: RunCommand }, stream?: string): string;
}

let runs = 0;
function job(level: Level, more: Partial<typeof settings> = {}): Job {
  const id = randomUUID();
  const workspace = newWorkspace(workDir, id);
  const user = (level === "process" ? null : freeUser(settings)) ?? undefined;
  const isolation = openIsolation(
    level,
    { id, workspace, state: undefined, user },
    { ...settings, ...more, level },
  );
  const { source, home, temporary, artifact } = workspace;
  isolation.give(source, home, temporary, artifact);
  return {
    workspace,
    isolation,
    user,
    run(script, env = {}) {
      const directory = join(place, `run-${++runs}`);
      const command = isolation.wrap({
        directory,
        command: "/bin/sh",
        args: ["-c", script],
        cwd: source,
        env: { PATH: settings.path, HOME: home, ...env },
      });
      return { command, ...openRun(command, undefined, () => isolation.killAll()) };
    },
    output: ({ command }, stream = "stdout") =>
      readFileSync(join(command.directory, stream), "utf8"),
  };
}

const appears = async (path: string): Promise<void> => {
  while (!existsSync(path) || statSync(path).size === 0) await sleep(10);
};
/** Whether a process runs with this word among its arguments. A zombie has no arguments. */
const runsNow = (word: string): boolean =>
  readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").includes(word);
      } catch {
        return false;
      }
    });

describe.each(working)("level %s", (level) => {
  test("passes on the exit code, arguments and environment", async () => {
    const { run, output, isolation } = job(level);
    const ran = run(`printf '<%s>' "$ODD" "$LINES2"; exit 7`, {
      ODD: "a 'b' \"c\" $(touch pwned) `id`",
      LINES2: "one\ntwo\n",
      EMPTY: "",
    });
    expect(await ran.ended).toEqual({ kind: "exited", code: 7 });
    expect(output(ran)).toBe("<a 'b' \"c\" $(touch pwned) `id`><one\ntwo\n>");
    await wipe(isolation);
  });

  test("gives the job exactly its environment", async () => {
    const { run, output, isolation } = job(level);
    const ran = run("env", { TOKEN: "of-the-job" });
    await ran.ended;
    const ofShell = /^(PWD|OLDPWD|_|SHLVL|WINDLASS_JOB)$/;
    const names = [...output(ran).matchAll(/^(\w+)=/gm)].map(([, name = ""]) => name);
    expect(new Set(names.filter((name) => !ofShell.test(name)))).toEqual(
      new Set(["HOME", "PATH", "TOKEN"]),
    );
    await wipe(isolation);
  });

  test("keeps the job's environment out of the arguments", async () => {
    const { run, isolation } = job(level);
    const ran = run("true", { TOKEN: "secret-of-the-job" });
    expect(ran.command.args.join("\n")).not.toContain("secret-of-the-job");
    await ran.ended;
    await wipe(isolation);
  });

  test("passes signals to the command only", async () => {
    const { run, output, isolation, workspace } = job(level);
    const ran = run(
      "trap 'echo INT; exit 5' INT; echo ready > ready; while :; do sleep 0.02; done",
    );
    await appears(join(workspace.source, "ready"));
    await ran.stop({ first: 10_000, second: 1000 }, 0);
    expect(await ran.ended).toEqual({ kind: "exited", code: 5 });
    expect(output(ran)).toBe("INT\n");
    await wipe(isolation);
  });

  test("kills a command that ignores every signal, with exit code 137", async () => {
    const { run, isolation, workspace } = job(level);
    const ran = run("trap '' INT TERM; echo ready > ready; while :; do sleep 0.02; done");
    await appears(join(workspace.source, "ready"));
    await ran.stop({ first: 20, second: 20 }, 0);
    expect(await ran.ended).toEqual({ kind: "exited", code: 137 });
    await wipe(isolation);
  });

  test("kills a daemon that forked twice and left the session and group", async () => {
    const { run, isolation, workspace } = job(level);
    const seconds = `300.${Date.now()}`;
    const ran = run(
      `setsid sh -c '(setsid sleep ${seconds} & echo $! > daemon) &'; while [ ! -s daemon ]; do sleep 0.02; done`,
    );
    await ran.ended;
    expect(existsSync(join(workspace.source, "daemon"))).toBe(true);
    expect(runsNow(seconds)).toBe(false);
    await wipe(isolation);
  });

  test("names the directories whose files do not outlive the job", async () => {
    const { run, isolation, workspace } = job(level);
    const folders = ["/tmp", "/var/tmp", "/dev/shm", workspace.source].filter(existsSync);
    const files = folders.map((folder) => join(folder, `windlass-outlives-${level}`));
    await run(files.map((file) => `echo x > ${file}`).join("\n")).ended;
    await wipe(isolation);
    const isPassing = (file: string) =>
      isolation.passing.some((each) => `${file}/`.startsWith(each));
    expect(files.map(existsSync)).toEqual(files.map((file) => !isPassing(file)));
    for (const file of files) rmSync(file, { force: true });
  });

  test("wipes unwritable files, and links without their targets", async () => {
    const { run, isolation, workspace } = job(level);
    const outside = join(place, `outside-${level}`);
    writeFileSync(outside, "kept");
    await run(
      `mkdir -p a/b/c && echo x > a/b/c/x && chmod 0500 a/b/c && chmod 0 a/b a; ln -s ${outside} link; ln -s ${place} folder`,
    ).ended;
    await wipe(isolation);
    expect(existsSync(workspace.root)).toBe(false);
    expect(readFileSync(outside, "utf8")).toBe("kept");
  });
});

describe.each(protective)("level %s", (level) => {
  test("runs without capabilities, without a way to gain any, and without the agent's groups", async () => {
    const { run, output, isolation } = job(level);
    const ran = run("grep -E '^(Cap|NoNewPrivs|Groups|Uid)' /proc/self/status");
    await ran.ended;
    const status = output(ran);
    expect(status).toMatch(/^CapPrm:\s0+$/m);
    expect(status).toMatch(/^CapEff:\s0+$/m);
    expect(status).toMatch(/^CapBnd:\s0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s1$/m);
    if (process.getuid?.() === 0) expect(status).not.toMatch(/^(Uid|Groups):.*\b0\b/m);
    await wipe(isolation);
  });

  test("kills a daemon that has emptied its environment", async () => {
    const { run, isolation, workspace } = job(level);
    const seconds = `301.${Date.now()}`;
    await run(
      `env -i setsid /bin/sh -c '(/usr/bin/setsid /bin/sleep ${seconds} & echo $! > daemon) &'; while [ ! -s daemon ]; do sleep 0.02; done`,
    ).ended;
    expect(existsSync(join(workspace.source, "daemon"))).toBe(true);
    expect(runsNow(seconds)).toBe(false);
    await wipe(isolation);
  });

  test("hides the agent's files, its environment and the workspace of another job", async () => {
    const secret = join(workDir, `identity-${level}.json`);
    writeFileSync(secret, "CANARY_identity", { mode: 0o600 });
    const other = job(level);
    const otherFile = join(other.workspace.source, "other");
    await other.run("umask 0; echo CANARY_other > other").ended;
    const { run, output, isolation, workspace } = job(level);
    const ran = run(
      `cat ${secret} ${otherFile} ${other.workspace.root}/* /proc/${process.pid}/environ /proc/${process.pid}/maps; ls ${workDir}/workspaces; ls ${workDir}/jobs; echo over`,
    );
    await ran.ended;
    expect(readFileSync(otherFile, "utf8")).toBe("CANARY_other\n");
    // The job may see its own workspace.
    expect(output(ran).replace(`${basename(workspace.root)}\n`, "")).toBe("over\n");
    await Promise.all([wipe(isolation), wipe(other.isolation)]);
  });

  test("keeps the job from the socket of the agent's status", async () => {
    const socket = statusSocket(workDir);
    const status = openLocalStatus({
      address: undefined,
      contact: new Contact(),
      silenceSeconds: 60,
      isolation: level,
      slots: 1,
      workDir,
      log: pino({ enabled: false }),
      running: () => 0,
      isDiskLow: () => false,
    });
    while (!existsSync(socket)) await sleep(10);
    const { run, output, isolation } = job(level);
    const ran = run(`[ -w ${socket} ] && echo open; echo over`);
    await ran.ended;
    expect(output(ran)).toBe("over\n");
    status.close();
    await wipe(isolation);
  });

  test("lets the job write to its own directories, but not to the agent's files beside them", async () => {
    const { run, output, isolation, workspace } = job(level);
    const { root, home, temporary, artifact } = workspace;
    writeFileSync(join(root, "of-the-agent"), "kept", { mode: 0o644 });
    const ran = run(
      `for d in . ${home} ${temporary} ${artifact}; do echo x > $d/made || echo "no $d"; done
       for f in ${root}/of-the-agent ${root}/new; do (echo x > $f) 2>/dev/null && echo "wrote $f"; done
       mv ${root}/source ${root}/elsewhere 2>/dev/null && echo "moved"; echo over`,
    );
    await ran.ended;
    expect(output(ran)).toBe("over\n");
    expect(readFileSync(join(root, "of-the-agent"), "utf8")).toBe("kept");
    await wipe(isolation);
  });
});

test("the default level is the strongest that works, with the reasons why stronger ones do not", async () => {
  const choice = await chooseIsolation(settings);
  expect(choice.level).toBe(working.at(-1));
  expect(choice.missing).toHaveLength(
    4 - 1 - ["process", "uid", "bubblewrap", "container"].indexOf(choice.level),
  );
  expect(choice.missing[0]).toBe(
    "container: WINDLASS_CONTAINER_IMAGE is not set: set it to the image in which jobs run",
  );
});

describe("root, where only `process` works", () => {
  skipAt(settings.users === undefined ? "needs root" : undefined);
  const path = join(place, "bin-without-levels");
  mkdirSync(path, { recursive: true });
  for (const tool of ["sh", "cat", "mv"])
    if (!existsSync(join(path, tool))) symlinkSync(join("/usr/bin", tool), join(path, tool));
  const bare = { ...settings, path };

  test("must choose it explicitly", async () => {
    await expect(chooseIsolation(bare)).rejects.toThrow(IsolationMissingError);
    await expect(chooseIsolation(bare)).rejects.toThrow(
      "set WINDLASS_ISOLATION=process if every configuration may do everything that root may do",
    );
    expect(await chooseIsolation(bare, "process")).toEqual({ level: "process", missing: [] });
  });
});

describe.each(working)("the limits of a job at level %s", (level) => {
  const limits = { memoryBytes: 64 * 1024 ** 2, processes: 20, fileBytes: 1024 ** 2 };
  const limited = () => job(level, { limits });

  test("bound the size of a file, including holes", async () => {
    const { run, workspace, isolation } = limited();
    const file = join(workspace.source, "big");
    await run("head -c 3000000 /dev/zero > big; truncate -s 1T sparse; true").ended;
    expect(statSync(file).size).toBeLessThanOrEqual(limits.fileBytes);
    const sparse = join(workspace.source, "sparse");
    expect(existsSync(sparse) ? statSync(sparse).size : 0).toBe(0);
    await wipe(isolation);
  });

  test("bound the memory of a process", async () => {
    const { run, output, isolation } = limited();
    const take = (size: string) => `dd if=/dev/zero of=/dev/null bs=${size} count=1 2> /dev/null`;
    const ran = run(`${take("8M")} && echo small; ${take("256M")} && echo large; true`);
    await ran.ended;
    expect(output(ran)).toBe("small\n");
    await wipe(isolation);
  });
});

// Counted by user.
test.each(settings.users === undefined ? [] : protective)(
  "the processes of a job are bounded at level %s",
  async (level) => {
    const limits = { memoryBytes: 0, processes: 20, fileBytes: 0 };
    const { run, output, isolation } = job(level, { limits });
    const ran = run(
      "i=0; while [ $i -lt 60 ]; do sleep 300 & i=$((i + 1)); done 2> /dev/null; echo all",
    );
    await ran.ended;
    expect(output(ran)).toBe("");
    await wipe(isolation);
  },
);

test("level uid removes only the job's own files from the machine's shared directories", async ({
  skip,
}) => {
  skip(!working.includes("uid"), "level uid does not work here");
  const { run, output, user, isolation, workspace } = job("uid");
  const left = ["/tmp", "/var/tmp", "/dev/shm"]
    .filter(existsSync)
    .map((folder) => join(folder, `windlass-left-${user}`));
  const others = join("/tmp", `windlass-kept-${user}`);
  writeFileSync(others, "");
  const ran = run(
    `for d in ${left.join(" ")}; do mkdir $d && echo x > $d/file && ln -s ${others} $d/link && echo made; done`,
  );
  await ran.ended;
  expect(output(ran)).toBe("made\n".repeat(left.length));
  await isolation.leave();
  expect(existsSync(workspace.root)).toBe(false);
  mkdirSync(workspace.source, { recursive: true });
  await isolation.remove();
  // It is another job's by now.
  expect(existsSync(workspace.source)).toBe(true);
  rmSync(workspace.root, { recursive: true });
  expect(left.filter(existsSync)).toEqual([]);
  expect(existsSync(others)).toBe(true);
  rmSync(others);
});

test.each(protective)(
  "no shared memory, semaphores or message queues of a job outlive it at level %s",
  async (level) => {
    const { run, output, user, isolation } = job(level);
    // Only what the job's user made: databases of other tests have such memory too.
    const ids = (): string[] =>
      ["shm", "sem", "msg"].flatMap((table) => {
        const [head = [], ...rows] = readFileSync(`/proc/sysvipc/${table}`, "utf8")
          .trim()
          .split("\n")
          .map((line) => line.trim().split(/\s+/));
        const creator = head.indexOf("cuid");
        return rows
          .filter((row) => user === undefined || row[creator] === String(user))
          .map((row) => `${table} ${row[1]}`);
      });
    const before = new Set(ids());
    const ran = run("ipcmk --shmem 1024 && ipcmk --semaphore 1 && ipcmk --queue");
    await ran.ended;
    expect(output(ran).match(/: \d+$/gm)).toHaveLength(3);
    await wipe(isolation);
    expect(ids().filter((id) => !before.has(id))).toEqual([]);
  },
);

test.each(lacking)(
  "level %s is refused when it does not work and never replaced by another: %s",
  async (level, lack) => {
    await expect(chooseIsolation(settings, level)).rejects.toThrow(
      new IsolationMissingError(`WINDLASS_ISOLATION=${level} does not work here: ${lack}`),
    );
  },
);

test.each(["uid", "bubblewrap"] as const)(
  "level %s is refused with the name of the missing tool",
  async (level) => {
    const path = join(place, `bin-${level}`);
    mkdirSync(path);
    for (const tool of ["mv", "cat", ...(level === "bubblewrap" ? ["setpriv"] : [])]) {
      symlinkSync(join("/usr/bin", tool), join(path, tool));
    }
    const users = settings.users ?? [70_000, 70_001];
    const tool = level === "bubblewrap" ? "bwrap" : "setpriv";
    await expect(
      chooseIsolation({ ...settings, path, ...(level === "uid" ? { users } : {}) }, level),
    ).rejects.toThrow(
      new IsolationMissingError(
        `WINDLASS_ISOLATION=${level} does not work here: ${tool} is not on the PATH`,
      ),
    );
  },
);

test("level uid is refused when users cannot reach the work directory, with the directory's path", async () => {
  const closed = join(place, "closed");
  mkdirSync(closed, { mode: 0o700 });
  const users = [70_000, 70_001] as const;
  const inside = { ...isolationSettings(join(closed, "work")), users };
  await expect(chooseIsolation(inside, "uid")).rejects.toThrow(
    `who cannot enter ${closed}: allow it (chmod o+x)`,
  );
  chmodSync(closed, 0o711);
});

test("level uid is refused without root", async () => {
  await expect(chooseIsolation({ ...settings, users: undefined }, "uid")).rejects.toThrow(
    "it needs an agent that runs as root",
  );
});

test("probing the levels leaves nothing in the work directory", () => {
  expect(readdirSync(workDir).filter((name) => name.startsWith("probe-"))).toEqual([]);
  expect(
    readdirSync(join(workDir, "workspaces")).filter((name) => name.startsWith("probe-")),
  ).toEqual([]);
});

test("a link from a job's directory to a file outside it is not read", async () => {
  const { copyJobFile, readJobFile } = await import("../../agent/job/job-files.ts");
  const root = join(place, "linked");
  mkdirSync(join(root, "inner"), { recursive: true });
  const secret = join(place, "secret");
  writeFileSync(secret, "CANARY_secret");
  symlinkSync(secret, join(root, "link"));
  symlinkSync(place, join(root, "folder"));
  writeFileSync(join(root, "inner", "plain"), "plain");
  symlinkSync("inner/plain", join(root, "within"));
  expect(readJobFile(root, join(root, "within"))).toBe("plain");
  expect(readJobFile(root, join(root, "none"))).toBeUndefined();
  for (const path of ["link", "folder/secret", "inner"]) {
    expect(() => readJobFile(root, join(root, path))).toThrow(/is not read/);
    await expect(copyJobFile(root, join(root, path), join(place, "copy"), 1000)).rejects.toThrow(
      /is not read/,
    );
  }
  expect(existsSync(join(place, "copy"))).toBe(false);
});

test("the default level is one of the levels that work", () => {
  expect(working).toContain(strongest);
});

test("a work directory that other users may write is refused, and its mode unchanged", async (context) => {
  if (process.getuid?.() !== 0) return context.skip("it needs root");
  const shared = join(place, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  const inShared = { ...settings, workDir: shared };
  await expect(chooseIsolation(inShared)).rejects.toThrow("can be written by other users");
  expect(statSync(shared).mode & 0o7777).toBe(0o1777);
});
