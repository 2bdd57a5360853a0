/** The examples of docs/pipelines.md: every command of each, run as its pipeline does. */
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { root } from "../helpers/project/source-files.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";

const { plane } = planeForFile();
const page = readFileSync(join(root, "docs/pipelines.md"), "utf8");

const providers = ["GitHub Actions", "GitLab CI", "Bitbucket Pipelines"];

/** The commands of an example and the secret that each gets, in their order. */
function stepsOf(provider: string): { command: string; secret: string }[] {
  const example = page.split(`## ${provider}\n`)[1]?.split("```")[1] ?? "";
  let secret = "";
  return example.split("\n").flatMap((line) => {
    secret = /WINDLASS_TOKEN[=:].*?(WINDLASS_\w+_TOKEN)/.exec(line)?.[1] ?? secret;
    const command = /^\s*- (?:run: )?(windlass .+)$/.exec(line)?.[1];
    return command === undefined ? [] : [{ command, secret }];
  });
}

it("the commands of each example deploy and find no drift", async () => {
  await using ada = await userMachine(plane, { agent: true });
  const { user } = ada;
  const tokenOf = async (name: string, role: "deployer" | "planner") =>
    (await user.client.call("createAccessToken", { body: { name, role } })).access_token;
  const secrets: Record<string, string> = {
    WINDLASS_DEPLOY_TOKEN: await tokenOf("ci-deploy", "deployer"),
    WINDLASS_DRIFT_TOKEN: await tokenOf("ci-drift", "planner"),
  };
  await ada.ready();
  for (const provider of providers) {
    const steps = stepsOf(provider);
    expect([provider, steps.length]).toEqual([provider, 2]);
    // Every job of a pipeline has a checkout of its own.
    for (const [index, { command, secret }] of steps.entries()) {
      const cwd = join(ada.path, `${provider} ${index}`);
      cpSync(join(root, "samples"), cwd, {
        recursive: true,
        filter: (file) => !file.endsWith("/.windlass"),
      });
      await execa("git", ["init", "--quiet"], { cwd });
      await execa("git", ["remote", "add", "origin", "https://git.example.com/a/b.git"], { cwd });
      const { exitCode, all } = await execa("sh", ["-e", "-c", command], {
        cwd,
        all: true,
        reject: false,
        stdin: "ignore",
        env: {
          PATH: `${join(root, "bin")}:${process.env["PATH"]}`,
          CI: "true",
          WINDLASS_URL: plane.url,
          WINDLASS_TOKEN: secrets[secret] ?? "",
          WINDLASS_CONFIG_DIR: join(cwd, "none"),
        },
      });
      expect({ provider, command, exitCode, all }).toMatchObject({ exitCode: 0 });
      expect(all).not.toContain("wlt_");
    }
  }
  const { jobs } = await user.client.call("listJobs");
  const email = (await user.client.call("listAccessTokens")).access_tokens[0]?.created_by;
  const deploy = `ci-deploy (token of ${email})`;
  const drift = `ci-drift (token of ${email})`;
  expect(
    jobs.map((job) => `${job.job_type} ${job.status} by ${job.created_by}`).toReversed(),
  ).toEqual([
    `PLAN SUCCESS by ${deploy}`,
    `DEPLOY SUCCESS by ${deploy}`,
    `PLAN SUCCESS by ${drift}`,
    // Nothing has changed since.
    ...[1, 2].flatMap(() => [`PLAN SUCCESS by ${deploy}`, `PLAN SUCCESS by ${drift}`]),
  ]);
});
