/** `windlass up` in a checkout of a repository that a connection reaches. */
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import type { Configuration } from "../../../protocol/configurations.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";
import { startForgejo } from "../../helpers/hosts/forgejo.ts";
import { openTerminal, wide } from "../../helpers/machine/terminal.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

test("after its first deployment, up offers to follow the branch, and says how to do it later", async () => {
  await using host = await startForgejo({ full: ["write:repository"] });
  host.addRepository("ada/infra").branches.set("main", "b".repeat(40));
  await using ada = await userMachine(plane, { agent: true });
  await ada.user.client.call("createConnection", {
    body: { name: "git", kind: "forgejo", base_url: host.url, credential: "full" },
  });
  const main = { "main.tf": 'output "a" {\n  value = 1\n}\n' };
  const inModule = { "main.tf": 'module "m" {\n  source = "../modules/m"\n}\n' };
  writeFiles(join(ada.path, "infra/net"), main);
  writeFiles(join(ada.path, "infra/live/dns"), inModule);
  writeFiles(join(ada.path, "infra/live/modules/m"), main);
  for (const words of [
    ["init", "-q"],
    ["remote", "add", "origin", `${host.url}/Ada/infra`],
  ])
    await execa("git", words, { cwd: join(ada.path, "infra") });
  const up = async (path: string, answer: string): Promise<string> => {
    const words = ["up", join(ada.path, "infra", path)];
    await using terminal = openTerminal(words, ada.environment, wide);
    await terminal.shows("Deploy this plan?");
    terminal.type("y\r");
    await terminal.shows('The connection "git" reaches ada/infra. Plan its pull requests');
    terminal.type(`${answer}\r`);
    expect(await terminal.exited).toBe(0);
    return terminal.screen();
  };

  expect(await up("live/dns", "n")).toContain(
    `To do it later: windlass configurations follow dns --connection git --git '${host.url}/ada/infra.git' --path live`,
  );
  expect(await ada.json<Configuration>("configurations", "show", "dns")).toMatchObject({
    source: { type: "archive" },
    working_directory: "dns",
    follow: null,
  });
  expect(await up("net", "y")).toContain("It follows main of ada/infra.");
  expect(await ada.json<Configuration>("configurations", "show", "net")).toMatchObject({
    source: { type: "git", path: "net", ref: "main" },
    follow: { branch: "main" },
  });
  // In a script nothing is asked, and what is followed changes by commits only.
  const again = await ada.run("up", join(ada.path, "infra/net"), "--yes");
  expect(again.exitCode).toBe(1);
  expect(again.stderr).toContain("follows main of ada/infra: push a commit there instead");
});
