/**
 * `windlass up` of a directory in which nothing has changed since the last deployment, with a
 * waiting runner: the time until the command has ended, as a ratio to `terraform init` and
 * `terraform plan` in the same directory, which a user would run without Windlass. Client and
 * runner are those of a build. Server and runner have run such jobs before, as those of a team have:
 * the first ones after their start take a tenth longer.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { buildWindlass } from "./lib/build.ts";
import { fill, type Filled } from "./lib/fill.ts";
import { compileCache, startAgent, startWindlass, stop } from "./lib/processes.ts";
import { signIn } from "./lib/sign-in.ts";
import { median, printTable } from "./lib/table.ts";

const roundsBefore = 15;
const rounds = 15;
const files = { "main.tf": 'output "cluster_name" {\n  value = "bench"\n}\n' };

const scratch = mkdtempSync(join(tmpdir(), "windlass-bench-"));
const [own, shell] = ["own", "shell"].map((name) => join(scratch, name)) as [string, string];
for (const folder of [own, shell]) {
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}
const windlass = await buildWindlass(scratch);
let filled!: Filled;
let token = "";
const server = await startWindlass(async (directory) => {
  filled = await fill(directory, 0);
  token = (await signIn(directory, filled.busyOwner))["authorization"]!.replace("Bearer ", "");
});
const agent = startAgent(server.url, filled.busyWorker, join(scratch, "agent"), {}, windlass);

async function up(): Promise<number> {
  const begun = performance.now();
  await execa(windlass, ["up", own, "--yes"], {
    env: {
      PATH: process.env["PATH"],
      HOME: scratch,
      WINDLASS_CONFIG_DIR: join(scratch, "client"),
      WINDLASS_URL: server.url,
      WINDLASS_TOKEN: token,
      ...compileCache(),
    },
    extendEnv: false,
    stdin: "ignore",
  });
  return performance.now() - begun;
}

async function inShell(...commands: readonly string[]): Promise<number> {
  const begun = performance.now();
  for (const command of commands)
    await execa("terraform", command.split(" "), {
      cwd: shell,
      env: { CHECKPOINT_DISABLE: "1", HOME: scratch },
      stdin: "ignore",
    });
  return performance.now() - begun;
}

try {
  for (let round = 0; round < roundsBefore; round += 1) await up();
  await inShell("init -input=false", "apply -input=false -auto-approve");
  const samples: { up: number; shell: number }[] = [];
  for (let round = 0; round < rounds; round += 1)
    samples.push({
      shell: await inShell("init -input=false", "plan -input=false"),
      up: await up(),
    });
  const of = (key: "up" | "shell") => median(samples.map((sample) => sample[key]));
  printTable("`windlass up` of an unchanged directory", [
    {
      row: "23",
      what: "duration / `terraform init` and `terraform plan`",
      value: median(samples.map(({ up, shell }) => up / shell)),
      goal: 4,
      better: "smaller",
      more: `${of("up").toFixed(0)} ms, terraform ${of("shell").toFixed(0)} ms`,
    },
  ]);
} finally {
  await stop(agent);
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
