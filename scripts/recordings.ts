/**
 * `npm run recordings`: records `windlass up`, and a runner that is killed in the middle of an
 * apply, each in a real terminal beside the page of the job. Writes docs/media/up-*.svg and
 * kill-*.svg, in both themes.
 */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { chromium } from "playwright-core";
import { findChromium, startBrowserServer } from "../test/helpers/console/chromium.ts";
import { visit } from "../test/helpers/console/launch.ts";
import { userMachine } from "../test/helpers/cli/user-machine.ts";
import { openProgram, type Terminal } from "../test/helpers/machine/terminal.ts";
import { readRow, setRows, startPlane } from "../test/helpers/plane/plane.ts";
import { animation } from "./lib/animation.ts";
import { webpOf } from "./lib/webp.ts";

const root = join(import.meta.dirname, "..");
const target = join(root, "docs/media");
mkdirSync(target, { recursive: true });
const found = await findChromium();
if (!found) throw new Error("Chromium was not found. Set CHROMIUM to its path.");
const server = await startBrowserServer(found);
const browser = await chromium.connect(server.wsEndpoint());

/** Thirty resources, which take a quarter of a minute together. */
const network = `
resource "terraform_data" "subnet" {
  count = 18
  provisioner "local-exec" { command = "sleep \${[2, 5, 3, 7, 4][count.index % 5]}" }
}
resource "terraform_data" "machine" {
  count = 12
  input = terraform_data.subnet[count.index].id
  provisioner "local-exec" { command = "sleep \${[4, 2, 6][count.index % 3]}" }
}
`;

type Step = (shell: Terminal) => Promise<unknown>;
const types =
  (text: string): Step =>
  async (shell) => {
    for (const character of text) {
      shell.type(character);
      await wait(25);
    }
  };
const shows =
  (words: string): Step =>
  (shell) =>
    shell.shows(words);
const waits =
  (seconds: number): Step =>
  () =>
    wait(seconds * 1_000);

/** Runs the steps in a terminal, and writes what it and the page of the newest job show meanwhile. */
async function record(name: string, steps: readonly Step[], before: readonly Step[] = []) {
  const plane = await startPlane();
  await using machine = await userMachine(plane, { agent: name === "up" });
  if (name === "up") await machine.ready();
  cpSync(join(root, "samples/hello-cluster"), join(machine.path, "hello-cluster"), {
    recursive: true,
  });
  const { user } = machine;
  if (name === "kill") {
    const source = { type: "inline", files: { "main.tf": network } };
    const configuration_id = await user.configure({ name: "network", source });
    await user.queue({ job_type: "PLAN", configuration_id });
  }
  const environment = {
    ...machine.environment,
    HOME: machine.path,
    PATH: `${join(root, "bin")}:${process.env["PATH"]}`,
    PS1: "$ ",
    WINDLASS_WORK_DIR: machine.work,
    WINDLASS_WORKER_NAME: "runner",
    WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
  };
  const { email } = await readRow(plane, "users");
  const pages = await Promise.all(
    (["light", "dark"] as const).map(async (colorScheme) => {
      const viewport = { width: 880, height: 800 };
      const options = { colorScheme, viewport, deviceScaleFactor: 0.75 };
      return { colorScheme, page: (await visit(browser, plane, email ?? "", options)).page };
    }),
  );
  await setRows(plane, "users", { email: "ada@example.com" });
  await using shell = openProgram(["sh", "-i"], environment, machine.path);
  await shell.shows("$ ");
  for (const step of before) await step(shell);
  await shell.shows("$ ");
  const hidden = shell.raw().length;

  const frames: { seconds: number; terminal: string; pictures: Buffer[] }[] = [];
  let isOver = false;
  let shown: string | undefined;
  const start = performance.now();
  const watching = (async () => {
    for (let last = false; !last; await wait(150)) {
      last = isOver;
      const [job] = (await user.client.call("listJobs", { query: { limit: 1 } })).jobs;
      const path = job ? `/jobs/${job.id}` : "/";
      if (path !== shown) await Promise.all(pages.map(({ page }) => page.goto(plane.url + path)));
      shown = path;
      const bars = "document.getElementById('resources')?.scrollIntoView()";
      if (name === "kill") await Promise.all(pages.map(({ page }) => page.evaluate(bars)));
      // Other pages of the same moment: a picture each second is enough.
      const isDue = frames.length % 6 === 0 || last;
      frames.push({
        seconds: (performance.now() - start) / 1_000,
        terminal: `$ ${shell.raw().slice(hidden)}`
          .replaceAll(plane.url, "http://127.0.0.1:8080")
          .replaceAll(`on ${hostname()},`, "on this-machine,"),
        pictures: isDue
          ? await Promise.all(pages.map(({ page }) => page.screenshot()))
          : (frames.at(-1)?.pictures ?? []),
      });
    }
  })();
  for (const step of steps) await step(shell);
  isOver = true;
  await watching;
  for (const [index, { colorScheme, page }] of pages.entries()) {
    const taken = frames.map(({ pictures }) => pictures[index]!);
    const kept = taken.filter((one, at) => at === 0 || !one.equals(taken[at - 1]!));
    const converted = await webpOf(browser, kept);
    let place = -1;
    const played = frames.map(({ seconds, terminal }, at) => {
      if (kept[place + 1] === taken[at]) place += 1;
      return { seconds, terminal, picture: converted[place] ?? "" };
    });
    const text = animation(played, colorScheme);
    writeFileSync(join(target, `${name}-${colorScheme}.svg`), text);
    console.log(
      `${name}-${colorScheme}.svg: ${Math.round(text.length / 1024)} KiB, ${frames.length} frames`,
    );
    await page.context().close();
  }
  shell.type("kill %1; exit\n");
  await plane.close();
}

await record("up", [
  waits(0.5),
  types("windlass up hello-cluster\n"),
  shows("Deploy this plan? [y/N] "),
  waits(2),
  types("y\n"),
  shows("\n  gitops_url        = "),
  waits(1),
]);
await record(
  "kill",
  [
    waits(0.5),
    types("windlass jobs deploy network --plan -\n"),
    waits(6),
    types("kill -9 %1   # the runner, in the middle of the apply\n"),
    waits(4),
    types("windlass agent >agent.log 2>&1 &   # and again\n"),
    waits(1),
    types("windlass jobs logs network/- --follow\n"),
    shows("Apply complete!"),
    waits(2),
  ],
  [types("windlass agent >agent.log 2>&1 &\n"), waits(5)],
);
await server.close();
