/**
 * The command lines of the README and of the pages in docs/, in the order in which a reader types
 * them, in a directory like a fresh checkout and with no setting but a free port.
 */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it, onTestFinished } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import type { Worker } from "../../protocol/workers.ts";
import { scratch, until } from "../helpers/agent/agent-process.ts";
import { allCommands } from "../helpers/cli/command-driver.ts";
import { documentedCommands, shellBlocks } from "./documented-commands.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { TestBrowser } from "../helpers/people/providers.ts";
import { approve } from "../helpers/people/sign-in.ts";
import { root } from "../helpers/project/source-files.ts";
import { openProgram, type Terminal } from "../helpers/machine/terminal.ts";

/** Command lines that no test can run here, with the reason. */
const reasons: readonly [RegExp, string][] = [
  [/^npm ci\b/, "needs a registry; CI runs it, and test/acceptance/demo.test.ts the demo"],
  [/^WINDLASS_PORT=\d+ npm start$/, "the test itself sets another port"],
  [/^npm (test|run [\w:-]+)( -- .*)?$/, "for work on the code: CI"],
  [/^npx vitest run /, "for work on the code: CI"],
  [/^npm (un)?install --global\b/, "test/acceptance/packages.test.ts"],
  [
    /^sudo\b|\| sudo tee\b|^(systemctl|journalctl)\b|\bwindlass (server|agent) install\b/,
    "needs systemd",
  ],
  [/^(\w+=\S+ )?docker\b/, "needs a container engine"],
  [/^(kubectl|helm)\b/, "needs a cluster; test/deploy/helm.process.test.ts renders the chart"],
  [
    /^(cd deploy|mkdir|chmod|printf|openssl|\w+=\$\(openssl|export WINDLASS_HOSTNAME)\b/,
    "docs/deploy.md: writes secrets for containers",
  ],
  [
    /^windlass server migrate-store\b/,
    "needs PostgreSQL and S3: test/acceptance/migrate-store.test.ts",
  ],
  [/^windlass teams groups /, "needs a sign-in provider: test/acceptance/every-command.test.ts"],
  [
    /^windlass (teams members update|teams invite joan|access-tokens create ci --zone)/,
    "needs a second person and zones: test/acceptance/every-command.test.ts",
  ],
  [
    /^windlass (configurations update network --approvals|jobs (list --waiting-for-me|show 01890a5d-ac96|approve|reject)|up hello-cluster --yes --no-wait)/,
    "needs a second person: test/acceptance/approvals.test.ts",
  ],
  [
    /^windlass (connections|pull-requests|configurations follow)\b/,
    "needs a code host: test/cli/connections/connections.process.test.ts",
  ],
  [
    /^windlass (identities (create|trust-policy) live|configurations update network --identity live)\b/,
    "needs a cloud: test/acceptance/command-cases.test.ts",
  ],
  [/^windlass server issuer\b/, "test/acceptance/issuer.test.ts"],
  [/^windlass drift\b/, "needs a deployment that has drifted: test/acceptance/drift.test.ts"],
  [
    /^windlass (schedules|configurations update preview-42 --expires-at)\b/,
    "needs a deployment: test/cli/schedules/schedules.process.test.ts",
  ],
  [
    /^windlass notifications\b/,
    "needs a receiver: test/cli/notifications/notifications.process.test.ts",
  ],
  [
    /^windlass (plan|deploy)\b/,
    "comments: test/control-plane/services/pull-requests/commands.test.ts",
  ],
  [/^(nginx|caddy|curl|createuser|createdb|pg_dump|psql)\b/, "needs another program"],
];

/** Pages whose blocks have a test of their own. */
const pagesRunElsewhere: ReadonlyMap<string, string> = new Map([
  ["docs/cli.md", "test/cli/completion/script.process.test.ts"],
  ["docs/leaving.md", "test/acceptance/leaving.test.ts"],
  ["docs/moving-in.md", "test/acceptance/moving-in.test.ts"],
]);

/** Command lines that the test below runs. A line that it runs and no page shows fails it. */
const ran = new Set<string>();
const documented = documentedCommands();

const blocks = shellBlocks(readFileSync(join(root, "docs/quick-start.md"), "utf8"));

/** A directory like a checkout in which nothing has run yet. Jobs of other users may enter it. */
function freshCheckout(): string {
  const { path, [Symbol.dispose]: remove } = scratch();
  onTestFinished(remove);
  const checkout = join(path, "windlass");
  mkdirSync(checkout);
  chmodSync(checkout, 0o755);
  for (const name of readdirSync(root))
    if (name === "samples")
      cpSync(join(root, name), join(checkout, name), {
        recursive: true,
        filter: (file) => !file.endsWith("/.windlass"),
      });
    else if (name !== ".windlass" && name !== ".git")
      symlinkSync(join(root, name), join(checkout, name));
  return checkout;
}

async function openShell(env: Record<string, string>, directory: string): Promise<Terminal> {
  const shell = openProgram(["sh", "-i"], { ...env, PS1: "$ " }, directory);
  await shell.shows("$ ");
  return shell;
}

/** Types text and waits for what the shell shows after it; before that stand earlier commands. */
async function answered(shell: Terminal, typed: string, words: RegExp): Promise<void> {
  const { length } = shell.screen();
  shell.type(typed);
  await until(() => words.test(shell.screen().slice(length)));
}

/** Presses Ctrl-C and waits for the prompt. */
const interrupt = (shell: Terminal): Promise<void> => answered(shell, "\u0003", /\$ $/);

it("the command lines of the README and the pages work in their order", async () => {
  const checkout = freshCheckout();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const backups = join(checkout, "../backups");
  mkdirSync(backups);
  const env = {
    PATH: `${join(checkout, "bin")}:${process.env["PATH"]}`,
    HOME: join(checkout, "../home"),
    TMPDIR: join(checkout, ".."),
    BROWSER: "true",
    WINDLASS_PORT: String(port),
  };
  const here = (line: string): string =>
    line.replaceAll("http://127.0.0.1:8080", url).replaceAll("/var/backups", backups);
  const note = (block: string): string => {
    for (const line of block.trim().split("\n")) ran.add(line.trim());
    return here(block);
  };
  /** Runs a documented line, with the reader's names in place of those of the page. */
  const run = async (
    line: string,
    { names = {}, more = {}, cwd = checkout }: RunOptions = {},
  ): Promise<string> => {
    ran.add(line);
    let typed = here(line);
    for (const [shown, own] of Object.entries(names)) typed = typed.replaceAll(shown, own);
    const { exitCode, all } = await execa("sh", ["-c", typed], {
      cwd,
      env: { ...env, ...more },
      all: true,
      stdin: "ignore",
      reject: false,
    });
    expect({ typed, exitCode, all }).toEqual({ typed, exitCode: 0, all });
    return all;
  };
  const json = async <T>(words: string): Promise<T> => {
    const { stdout } = await execa("sh", ["-c", `windlass ${words} --json`], {
      cwd: checkout,
      env,
      stdin: "ignore",
    });
    return JSON.parse(stdout) as T;
  };

  // docs/quick-start.md.
  const [dev = "", use = "", start = "", signIn = "", runner = "", ...more] = blocks;
  expect(more).toEqual([]);
  const linesOf = (block: string): string[] => note(block).split(/(?<=\n)/);
  const signInAt = async (shell: Terminal, linkAt: Terminal, login: string): Promise<void> => {
    const link = await until(() => /http\S+\/login\/link\/\S+/.exec(linkAt.screen())?.[0]);
    const browser = new TestBrowser();
    await browser.visit(link);
    const cookie = [...(browser.jars.get(new URL(url).host) ?? [])].map((one) => one.join("="));
    shell.type(login);
    const device = /device_code=([\w-]+)/.exec(await shell.shows("The six characters"))?.[1];
    const headers = { cookie: cookie.join("; "), origin: url };
    const { verification_code } = await approve({ url }, { headers }, device);
    shell.type(`${verification_code}\n`);
    await shell.shows("as you@example.com");
  };
  const deploy = async (shell: Terminal, up: string): Promise<void> => {
    shell.type(up);
    await shell.shows("Deploy this plan? [y/N] ");
    shell.type("y\n");
    await shell.shows("\n  gitops_url        = https://git.example.test/platform/hello");
    await until(() => shell.screen().endsWith("\n$ "));
  };
  const [login = "", up = ""] = linesOf(use);
  await using first = await openShell(env, checkout);
  {
    await using other = await openShell(env, checkout);
    first.type(note(dev));
    await first.shows("Ctrl-C stops both.");
    await signInAt(other, first, login);
    await deploy(other, up);
    await interrupt(first);
  }
  rmSync(join(checkout, "samples/hello-cluster/.windlass"), { recursive: true });

  first.type(note(start));
  await first.shows(`ready at ${url}`);
  const [printLink = "", loginAgain = ""] = linesOf(signIn);
  await using second = await openShell(env, checkout);
  second.type(printLink);
  await signInAt(second, second, loginAgain);
  second.type(note(runner));
  await second.shows("ready for jobs");
  await using third = await openShell(env, checkout);
  await deploy(third, up);
  // The jobs of root's runner are other users, who must be able to enter the checkout's .windlass.
  const [worker] = await json<Worker[]>("workers list");
  if (process.getuid?.() === 0) expect(worker?.isolation).not.toBe("process");

  // At its next start, the runner needs no token.
  await interrupt(second);
  const again = note("WINDLASS_URL=http://127.0.0.1:8080 bin/windlass agent");
  await answered(third, `${again}\n`, /ready for jobs/);
  for (const line of ["bin/windlass server --help", "bin/windlass agent --help"])
    expect(await run(line)).toContain("WINDLASS_LOG_LEVEL");

  // docs/up.md, docs/debug-log.md, docs/settings.md.
  expect(
    await run("windlass up --yes", { cwd: join(checkout, "samples/hello-cluster") }),
  ).toContain("Plan: no changes");
  await run("windlass jobs plan network --debug --wait", { names: { network: "hello-cluster" } });
  const [planned] = await json<Job[]>("jobs list --limit 1");
  const names = { JOB: planned?.id ?? "" };
  await run("windlass jobs debug-log JOB --output debug.log", { names });
  await run("windlass tokens create --uses 2");
  expect(readFileSync(join(checkout, "debug.log"), "utf8")).toContain("[DEBUG]");
  for (const line of ["windlass server --help", "windlass agent --help", "windlass --help"])
    expect(await run(line)).toContain("Usage: windlass");

  // docs/install.md.
  expect(await run("windlass version")).toContain("server, agent, client");

  // docs/pipelines.md; test/acceptance/pipelines.test.ts runs its examples.
  for (const line of [
    "windlass access-tokens create ci-deploy --role deployer",
    "windlass access-tokens create ci-drift --role planner --days 365",
  ])
    expect(await run(line)).toMatch(/^token +wlt_/m);

  // docs/isolation.md: the agent starts, or says what is missing.
  const [logs = "", bubblewrap = ""] = documented
    .filter(({ page, isBlock }) => page === "docs/isolation.md" && isBlock)
    .map(({ line }) => line);
  await interrupt(third);
  await answered(third, `WINDLASS_URL=${url} ${note(logs)}\n`, /ready for jobs/);
  await interrupt(third);
  const inSandbox = `export WINDLASS_URL=${url}; ${note(bubblewrap)}\n`;
  await answered(third, inSandbox, /ready for jobs|does not work here/);
  await interrupt(third);

  // docs/operate.md, "Remove a runner or a server".
  const removal = note("windlass workers delete NAME").replace("NAME", worker?.name ?? "");
  await answered(third, `${removal}\n`, /\[y\/N\] $/);
  await answered(third, "y\n", /\$ $/);
  expect(await json("workers list")).toEqual([]);

  // docs/teams.md.
  await run("windlass teams create Platform --slug platform");
  expect(
    await run("windlass teams invite grace@example.com --team platform --role deployer"),
  ).toContain(`${url}/invitations/`);
  const [zone] = await json<{ name: string }[]>("zones list");
  await run("windlass zones move production --team platform --yes", {
    names: { production: zone?.name ?? "" },
  });
  for (const line of ["windlass zones list --team platform", "windlass teams use platform"])
    await run(line);
  expect(await run("windlass zones list --team platform")).toContain(zone?.name);

  // docs/backup.md.
  await run("windlass server backup /var/backups/windlass-$(date +%F).tar.gz");
  const [backup = ""] = readdirSync(backups);
  await interrupt(first);
  await run("windlass server restore /var/backups/windlass-2026-01-31.tar.gz", {
    names: { "windlass-2026-01-31.tar.gz": backup },
    more: { WINDLASS_DATA_DIR: join(checkout, "../restored") },
  });
  await run("windlass server backup /var/backups/windlass-before-rotation.tar.gz");
  const keys = "export WINDLASS_SECRET_KEY_FILE=/etc/windlass/new.key";
  const exported = documented.find(({ line }) => line.startsWith(keys))?.line ?? "";
  ran.add(exported);
  const old = join(checkout, ".windlass/secrets/WINDLASS_SECRET_KEY");
  await run("windlass server rotate-key", {
    more: {
      WINDLASS_SECRET_KEY_FILE: await newKey(join(checkout, "../new.key")),
      WINDLASS_SECRET_KEY_OLD_FILE: old,
    },
  });
  for (const shell of [second, third]) {
    shell.type("exit\n");
    await shell.exited;
  }

  // What is in a block was run here, or has a reason; what a sentence names exists.
  const all = new Set(documented.map(({ line }) => line));
  expect([...ran].filter((line) => !all.has(line))).toEqual([]);
  const commands = [...(await allCommands()), ...ofRoles];
  const isKnown = ({ page, line, isBlock }: (typeof documented)[number]): boolean =>
    ran.has(line) ||
    (isBlock && pagesRunElsewhere.has(page)) ||
    reasons.some(([pattern]) => pattern.test(line)) ||
    (!isBlock && commands.some((command) => `${wordsOf(line)} `.startsWith(`${command} `)));
  expect(documented.filter((command) => !isKnown(command))).toEqual([]);
});

interface RunOptions {
  /** The reader's names for those of the page. */
  readonly names?: Readonly<Record<string, string>>;
  /** More of the environment. */
  readonly more?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

async function newKey(path: string): Promise<string> {
  await execa("sh", ["-c", `head -c 48 /dev/urandom | base64 > ${path}`]);
  return path;
}

/** The commands of server and agent, and the nouns of the client. */
const ofRoles = [
  ...[
    "",
    " login-link",
    " logins",
    " sign-out",
    " teams",
    " doctor",
    " backup",
    " restore",
    " rotate-key",
    " migrate-store",
  ].map((verb) => `server${verb}`),
  ...["", " install", " doctor"].map((verb) => `agent${verb}`),
  "audit",
  "help",
  "jobs",
  "teams",
  "--version",
  "--help",
];

/** A line without its settings and the program. */
const wordsOf = (line: string): string => line.replace(/^([A-Z_]+=\S+ )*(bin\/)?windlass /, "");
