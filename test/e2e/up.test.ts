/** `windlass up` from the sign-in to the outputs: a real server, a real runner, real terraform, a real terminal. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Job } from "../../protocol/jobs.ts";
import { startAgent } from "../helpers/agent-process.ts";
import { fixtureFiles } from "../helpers/fixtures.ts";
import { startPlane, type Plane } from "../helpers/plane.ts";
import { approve, openBrowser } from "../helpers/sign-in.ts";
import { someone } from "../helpers/someone.ts";
import { openTerminal } from "../helpers/terminal.ts";
import { windlass } from "../helpers/windlass.ts";

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

function directoryIn(path: string): string {
  const directory = join(path, "network");
  for (const [name, text] of Object.entries(fixtureFiles("success-cluster"))) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

describe.concurrent("windlass up", () => {
  test("brings a directory up, from the sign-in to the outputs", async () => {
    await using place = await someone(plane);
    const env = { WINDLASS_CONFIG_DIR: join(place.path, "profile") };
    const browser = await openBrowser(plane);
    await using login = openTerminal(["login", "--no-browser", "--server", plane.url], env);
    const device = /device_code=([\w-]+)/.exec(await login.shows("The six characters"))?.[1] ?? "";
    login.type(`${(await approve(plane, browser, device)).verification_code}\r`);
    expect(await login.exited).toBe(0);

    const token = await windlass(["tokens", "create", "--json"], { env });
    const { registration_token } = JSON.parse(token.stdout as string) as Record<string, string>;
    await using _ = startAgent({
      WINDLASS_URL: plane.url,
      WINDLASS_WORK_DIR: join(place.path, "work"),
      WINDLASS_REGISTRATION_TOKEN: registration_token ?? "",
      WINDLASS_WORKER_NAME: "runner",
    });

    const directory = directoryIn(place.path);
    await using terminal = openTerminal(["up", directory, "--var", "cluster_name=prod"], env);
    await terminal.shows("Deploy this plan? [y/N] ");
    expect(terminal.screen()).toContain('Configuration "network" made in zone "default".');
    expect(terminal.screen()).toContain("Plan: 3 to add");
    terminal.type("y\r");
    expect(await terminal.exited).toBe(0);
    const screen = terminal.screen();
    expect(screen).toContain("Apply complete! Resources: 3 added");
    expect(screen).toMatch(/^Outputs:\n.*\n {2}cluster_name +.*= prod$/m);
    expect(screen).not.toContain(registration_token);

    // Again: nothing to do, and the outputs all the same.
    const again = await windlass(["up", directory], { env });
    expect(again).toMatchObject({ exitCode: 0 });
    expect(again.stdout).toMatch(/^Plan: nothing to do/m);
    expect(again.stdout).toMatch(/^ {2}cluster_name +.*= prod$/m);
  });

  test("deploys nothing unasked: not in a pipe without --yes, not after a no", async () => {
    await using ada = await someone(plane, { agent: true });
    const directory = directoryIn(ada.path);
    const piped = await ada.run("up", directory, "--name", "piped", "--zone", "new", "--json");
    expect(piped).toMatchObject({ exitCode: 2 });
    expect(piped.stderr).toContain("nothing was deployed: add --yes");
    const { id } = JSON.parse(piped.stdout as string) as Job;
    expect(piped.stderr).toContain(`windlass jobs deploy --plan ${id} --wait`);
    await using terminal = openTerminal(["up", directory, "--name", "piped"], ada.environment);
    await terminal.shows("Deploy this plan?");
    terminal.type("n\r");
    expect(await terminal.exited).toBe(1);
    const types = ((await ada.json("jobs", "list")) as Job[]).map(({ job_type }) => job_type);
    expect(types).toEqual(["PLAN", "PLAN"]);
    const deployed = (await ada.json("up", directory, "--name", "piped", "--yes")) as Job;
    expect(deployed).toMatchObject({ job_type: "DEPLOY", status: "SUCCESS" });
  });

  test("touches no configuration whose files come from elsewhere", async () => {
    await using ada = await someone(plane);
    await ada.user.configure({
      name: "network",
      source: { type: "git", url: "https://a.example" },
    });
    const { exitCode, stderr } = await ada.run("up", directoryIn(ada.path), "--yes");
    expect(exitCode).toBe(1);
    expect(stderr).toContain("has its files from elsewhere (git): give another --name");
  });
});
