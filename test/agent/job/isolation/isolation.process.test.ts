/** The levels by themselves, with real users, sandboxes and processes. What does not work here is shown to be refused. */
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
import { afterAll, describe, expect, test } from "vitest";
import { chooseIsolation, IsolationMissing } from "../../../../agent/job/isolation/choose.ts";
import { type Isolation, type Level } from "../../../../agent/job/isolation/isolation.ts";
import { freeUser, openIsolation } from "../../../../agent/job/isolation/open.ts";
import { openRun, type Run } from "../../../../agent/job/terraform/process.ts";
import type { RunCommand } from "../../../../agent/job/terraform/spawn.ts";
import { workspaceAt, type Workspace } from "../../../../agent/job/workspace.ts";
import { scratch } from "../../../helpers/agent-process.ts";
import { isolationSettings, levelsHere, skipAbsentLevels } from "../../../helpers/isolation.ts";

const place = scratch();
afterAll(() => place[Symbol.dispose]());
const workDir = join(place.path, "work");
const settings = isolationSettings(workDir);
const { working, lacking } = await levelsHere();
skipAbsentLevels(lacking);
const strongest = (await chooseIsolation(settings)).level;
/** Those that keep a job from what is the agent's. */
const apart = working.filter((level) => level !== "process");

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
  const workspace = workspaceAt(join(workDir, "workspaces", id));
  for (const folder of Object.values(workspace.folders)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }
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
      const directory = join(place.path, `run-${++runs}`);
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
/** Whether a process with this word in its arguments runs; a zombie has none. */
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
  test("passes exit code, arguments and environment on", async () => {
    const { run, output, isolation } = job(level);
    const ran = run(`printf '<%s>' "$ODD" "$LINES2"; exit 7`, {
      ODD: "a 'b' \"c\" $(touch pwned) `id`",
      LINES2: "one\ntwo\n",
      EMPTY: "",
    });
    expect(await ran.ended).toEqual({ kind: "exited", code: 7 });
    expect(output(ran)).toBe("<a 'b' \"c\" $(touch pwned) `id`><one\ntwo\n>");
    await isolation.wipe();
  });

  test("gives the job its environment and nothing else", async () => {
    const { run, output, isolation } = job(level);
    const ran = run("env", { TOKEN: "of-the-job" });
    await ran.ended;
    const ofShell = /^(PWD|OLDPWD|_|SHLVL|WINDLASS_JOB)$/;
    const names = [...output(ran).matchAll(/^(\w+)=/gm)].map(([, name = ""]) => name);
    expect(new Set(names.filter((name) => !ofShell.test(name)))).toEqual(
      new Set(["HOME", "PATH", "TOKEN"]),
    );
    await isolation.wipe();
  });

  test("keeps the job's environment out of arguments", async () => {
    const { run, isolation } = job(level);
    const ran = run("true", { TOKEN: "secret-of-the-job" });
    expect(ran.command.args.join("\n")).not.toContain("secret-of-the-job");
    await ran.ended;
    await isolation.wipe();
  });

  test("lets signals through to the command, and to nothing around it", async () => {
    const { run, output, isolation, workspace } = job(level);
    const ran = run(
      "trap 'echo INT; exit 5' INT; echo ready > ready; while :; do sleep 0.02; done",
    );
    await appears(join(workspace.source, "ready"));
    await ran.stop({ first: 10_000, second: 1000 }, false);
    expect(await ran.ended).toEqual({ kind: "exited", code: 5 });
    expect(output(ran)).toBe("INT\n");
    await isolation.wipe();
  });

  test("kills what ignores every signal, and says 137", async () => {
    const { run, isolation, workspace } = job(level);
    const ran = run("trap '' INT TERM; echo ready > ready; while :; do sleep 0.02; done");
    await appears(join(workspace.source, "ready"));
    await ran.stop({ first: 20, second: 20 }, false);
    expect(await ran.ended).toEqual({ kind: "exited", code: 137 });
    await isolation.wipe();
  });

  test("leaves no daemon alive that left session and group and was forked twice", async () => {
    const { run, isolation, workspace } = job(level);
    const seconds = `300.${Date.now()}`;
    const ran = run(
      `setsid sh -c '(setsid sleep ${seconds} & echo $! > daemon) &'; while [ ! -s daemon ]; do sleep 0.02; done`,
    );
    await ran.ended;
    expect(existsSync(join(workspace.source, "daemon"))).toBe(true);
    expect(runsNow(seconds)).toBe(false);
    await isolation.wipe();
  });

  test("wipes what the job made unwritable, and links without what they lead to", async () => {
    const { run, isolation, workspace } = job(level);
    const outside = join(place.path, `outside-${level}`);
    writeFileSync(outside, "kept");
    await run(
      `mkdir -p a/b/c && echo x > a/b/c/x && chmod 0500 a/b/c && chmod 0 a/b a; ln -s ${outside} link; ln -s ${place.path} folder`,
    ).ended;
    await isolation.wipe();
    expect(existsSync(workspace.root)).toBe(false);
    expect(readFileSync(outside, "utf8")).toBe("kept");
  });
});

describe.each(apart)("level %s", (level) => {
  test("is without rights: no capability, no way to get one, none of the agent's groups", async () => {
    const { run, output, isolation } = job(level);
    const ran = run("grep -E '^(Cap|NoNewPrivs|Groups|Uid)' /proc/self/status");
    await ran.ended;
    const said = output(ran);
    expect(said).toMatch(/^CapPrm:\s0+$/m);
    expect(said).toMatch(/^CapEff:\s0+$/m);
    expect(said).toMatch(/^CapBnd:\s0+$/m);
    expect(said).toMatch(/^NoNewPrivs:\s1$/m);
    if (process.getuid?.() === 0) expect(said).not.toMatch(/^(Uid|Groups):.*\b0\b/m);
    await isolation.wipe();
  });

  test("leaves no daemon alive that has emptied its environment", async () => {
    const { run, isolation, workspace } = job(level);
    const seconds = `301.${Date.now()}`;
    await run(
      `env -i setsid /bin/sh -c '(/usr/bin/setsid /bin/sleep ${seconds} & echo $! > daemon) &'; while [ ! -s daemon ]; do sleep 0.02; done`,
    ).ended;
    expect(existsSync(join(workspace.source, "daemon"))).toBe(true);
    expect(runsNow(seconds)).toBe(false);
    await isolation.wipe();
  });

  test("hides the agent's files, its environment and the workspace of another job", async () => {
    const secret = join(workDir, `identity-${level}.json`);
    writeFileSync(secret, "CANARY_identity", { mode: 0o600 });
    const other = job(level);
    const theirs = join(other.workspace.source, "theirs");
    await other.run("umask 0; echo CANARY_other > theirs").ended;
    const { run, output, isolation, workspace } = job(level);
    const ran = run(
      `cat ${secret} ${theirs} ${other.workspace.root}/* /proc/${process.pid}/environ /proc/${process.pid}/maps; ls ${workDir}/workspaces; ls ${workDir}/jobs; echo over`,
    );
    await ran.ended;
    expect(readFileSync(theirs, "utf8")).toBe("CANARY_other\n");
    // Of the workspaces its own may be there to be seen.
    expect(output(ran).replace(`${basename(workspace.root)}\n`, "")).toBe("over\n");
    await Promise.all([isolation.wipe(), other.isolation.wipe()]);
  });

  test("lets the job write its own folders, and not what the agent keeps beside them", async () => {
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
    await isolation.wipe();
  });
});

test("the strongest that works is the default, and says why there is no stronger one", async () => {
  const choice = await chooseIsolation(settings);
  expect(choice.level).toBe(working.at(-1));
  expect(choice.missing).toHaveLength(
    4 - 1 - ["process", "uid", "bubblewrap", "container"].indexOf(choice.level),
  );
  expect(choice.missing[0]).toBe(
    "container: WINDLASS_CONTAINER_IMAGE is not set: the image that jobs run in",
  );
});

describe.skipIf(settings.users === undefined)("root, where only `process` works", () => {
  const path = join(place.path, "bin-without-levels");
  mkdirSync(path, { recursive: true });
  for (const tool of ["sh", "cat", "mv"])
    if (!existsSync(join(path, tool))) symlinkSync(join("/usr/bin", tool), join(path, tool));
  const bare = { ...settings, path };

  test("must ask for it by name", async () => {
    await expect(chooseIsolation(bare)).rejects.toThrow(IsolationMissing);
    await expect(chooseIsolation(bare)).rejects.toThrow(
      "set WINDLASS_ISOLATION=process if every configuration may do what root may",
    );
    expect(await chooseIsolation(bare, "process")).toEqual({ level: "process", missing: [] });
  });
});

describe.each(working)("the limits of a job at level %s", (level) => {
  const limits = { memoryBytes: 64 * 1024 ** 2, processes: 20, fileBytes: 1024 ** 2 };
  const limited = () => job(level, { limits });

  test("bound a file, its holes included", async () => {
    const { run, workspace, isolation } = limited();
    const file = join(workspace.source, "big");
    await run("head -c 3000000 /dev/zero > big; truncate -s 1T sparse; true").ended;
    expect(statSync(file).size).toBeLessThanOrEqual(limits.fileBytes);
    const sparse = join(workspace.source, "sparse");
    expect(existsSync(sparse) ? statSync(sparse).size : 0).toBe(0);
    await isolation.wipe();
  });

  test("bound the memory of a process", async () => {
    const { run, output, isolation } = limited();
    const take = (size: string) => `dd if=/dev/zero of=/dev/null bs=${size} count=1 2> /dev/null`;
    const ran = run(`${take("8M")} && echo small; ${take("256M")} && echo large; true`);
    await ran.ended;
    expect(output(ran)).toBe("small\n");
    await isolation.wipe();
  });
});

// Counted by user.
test.each(settings.users === undefined ? [] : apart)(
  "a job's processes are bounded at level %s",
  async (level) => {
    const limits = { memoryBytes: 0, processes: 20, fileBytes: 0 };
    const { run, output, isolation } = job(level, { limits });
    const ran = run(
      "i=0; while [ $i -lt 60 ]; do sleep 300 & i=$((i + 1)); done 2> /dev/null; echo all",
    );
    await ran.ended;
    expect(output(ran)).toBe("");
    await isolation.wipe();
  },
);

test.runIf(working.includes("uid"))(
  "what a job of its own user leaves in the machine's shared folders goes with it, and nothing else does",
  async () => {
    const { run, output, user, isolation } = job("uid");
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
    await isolation.wipe();
    expect(left.filter(existsSync)).toEqual([]);
    expect(existsSync(others)).toBe(true);
    rmSync(others);
  },
);

test.each(lacking)("asked for, %s is refused here and never replaced: %s", async (level, lack) => {
  await expect(chooseIsolation(settings, level)).rejects.toThrow(
    new IsolationMissing(`WINDLASS_ISOLATION=${level} does not work here: ${lack}`),
  );
});

test.each(["uid", "bubblewrap"] as const)(
  "%s is refused by the name of the tool that is missing",
  async (level) => {
    const path = join(place.path, `bin-${level}`);
    mkdirSync(path);
    for (const tool of ["mv", "cat", ...(level === "bubblewrap" ? ["setpriv"] : [])]) {
      symlinkSync(join("/usr/bin", tool), join(path, tool));
    }
    const users = settings.users ?? [70_000, 70_001];
    const tool = level === "bubblewrap" ? "bwrap" : "setpriv";
    await expect(
      chooseIsolation({ ...settings, path, ...(level === "uid" ? { users } : {}) }, level),
    ).rejects.toThrow(
      new IsolationMissing(
        `WINDLASS_ISOLATION=${level} does not work here: ${tool} is not on the PATH`,
      ),
    );
  },
);

test("users are refused a work directory that they cannot get to, and the message says where", async () => {
  const closed = join(place.path, "closed");
  mkdirSync(closed, { mode: 0o700 });
  const users = [70_000, 70_001] as const;
  const inside = { ...isolationSettings(join(closed, "work")), users };
  await expect(chooseIsolation(inside, "uid")).rejects.toThrow(
    `who cannot go through ${closed}: allow it (chmod o+x)`,
  );
  chmodSync(closed, 0o711);
});

test("without root there is no level uid", async () => {
  await expect(chooseIsolation({ ...settings, users: undefined }, "uid")).rejects.toThrow(
    "it needs root, to run jobs as other users",
  );
});

test("a trial leaves nothing in the work directory", () => {
  expect(readdirSync(workDir).filter((name) => name.startsWith("probe-"))).toEqual([]);
  expect(
    readdirSync(join(workDir, "workspaces")).filter((name) => name.startsWith("probe-")),
  ).toEqual([]);
});

test("a file that a job links to the agent's own is not read", async () => {
  const { copyJobFile, readJobFile } = await import("../../../../agent/job/job-files.ts");
  const root = join(place.path, "linked");
  mkdirSync(join(root, "inner"), { recursive: true });
  const secret = join(place.path, "secret");
  writeFileSync(secret, "CANARY_secret");
  symlinkSync(secret, join(root, "link"));
  symlinkSync(place.path, join(root, "folder"));
  writeFileSync(join(root, "inner", "plain"), "plain");
  symlinkSync("inner/plain", join(root, "within"));
  expect(readJobFile(root, join(root, "within"))).toBe("plain");
  expect(readJobFile(root, join(root, "none"))).toBeUndefined();
  for (const path of ["link", "folder/secret", "inner"]) {
    expect(() => readJobFile(root, join(root, path))).toThrow(/is not read/);
    await expect(
      copyJobFile(root, join(root, path), join(place.path, "copy"), 1000),
    ).rejects.toThrow(/is not read/);
  }
  expect(existsSync(join(place.path, "copy"))).toBe(false);
});

test("the default level of this machine is one of those that were tried", () => {
  expect(working).toContain(strongest);
});

test("a folder that others may write is refused as work directory, and its mode stays", async (context) => {
  if (process.getuid?.() !== 0) return context.skip("it needs root");
  const shared = join(place.path, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  const inShared = { ...settings, workDir: shared };
  await expect(chooseIsolation(inShared)).rejects.toThrow("a work directory of its own");
  expect(statSync(shared).mode & 0o7777).toBe(0o1777);
});
