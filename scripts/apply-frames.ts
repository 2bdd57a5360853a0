/**
 * `npm run apply-frames`: a runner applies a plan of 40 resources, of which one fails, while a
 * browser shows the job. Writes a picture of the page for each second to screenshots/apply/, and
 * all of them side by side to screenshots/apply.png.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { chromium } from "playwright-core";
import { findChromium, startBrowserServer } from "../test/helpers/console/chromium.ts";
import { visit } from "../test/helpers/console/launch.ts";
import { readRow, startPlane } from "../test/helpers/plane/plane.ts";
import { userMachine } from "../test/helpers/cli/user-machine.ts";

const target = join(import.meta.dirname, "../screenshots/apply");
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

/**
 * The second version creates 24 resources, one of which fails, replaces 8, updates 4 and destroys
 * 4.
 */
const main = `
variable "second" { type = bool }
variable "seconds" { type = list(number) }

resource "terraform_data" "subnet" {
  count = var.second ? 24 : 0
  input = count.index
  provisioner "local-exec" {
    command = "sleep \${var.seconds[count.index % length(var.seconds)]}; test \${count.index} != 17"
  }
}

resource "terraform_data" "machine" {
  count            = 8
  triggers_replace = var.second
  provisioner "local-exec" {
    command = var.second ? "sleep \${var.seconds[count.index % length(var.seconds)]}" : "true"
  }
}

resource "terraform_data" "record" {
  count = 4
  input = var.second
}

resource "terraform_data" "old" {
  count = var.second ? 0 : 4
  provisioner "local-exec" {
    when    = destroy
    command = "sleep 2"
  }
}
`;

const found = await findChromium();
if (!found) throw new Error("Chromium was not found. Set CHROMIUM to its path.");
const server = await startBrowserServer(found);
const browser = await chromium.connect(server.wsEndpoint());
const plane = await startPlane();
const machine = await userMachine(plane, { agent: true });
const { user } = machine;
await machine.ready();

const seconds = { value: [1, 4, 2, 6, 3] };
const configuration_id = await user.configure({
  name: "network",
  source: { type: "inline", files: { "main.tf": main } },
  variables: { second: { value: false }, seconds },
});
await user.released(await user.queue({ job_type: "DEPLOY", configuration_id }));
await user.call("updateConfiguration", {
  params: { name: "network" },
  body: { variables: { second: { value: true }, seconds } },
});
const plan = await user.queue({ job_type: "PLAN", configuration_id });
await user.released(plan);
const deploy = await user.queue({ job_type: "DEPLOY", configuration_id, plan_job_id: plan.id });

const { email } = await readRow(plane, "users");
const { page } = await visit(browser, plane, email ?? "", {
  viewport: { width: 1280, height: 900 },
});
await page.goto(`${plane.url}/jobs/${deploy.id}`);
const frames: string[] = [];
let over = false;
const end = user.released(deploy).then(() => (over = true));
/** Once more after the end. */
for (let last = false; !last; await wait(1_000)) {
  last = over;
  const file = join(target, `${String(frames.length).padStart(3, "0")}.png`);
  frames.push((await page.screenshot({ path: file, fullPage: false })).toString("base64"));
}
await end;

await page.screenshot({ path: join(target, "end.png"), fullPage: true });
const sheet = await browser.newPage({ viewport: { width: 1920, height: 900 } });
await sheet.setContent(
  `<body style="margin:0;display:grid;grid-template-columns:repeat(4,1fr);gap:4px">
  ${frames.map((frame) => `<img style="width:100%" src="data:image/png;base64,${frame}">`).join("")}`,
);
await sheet.screenshot({ path: join(target, "../apply.png"), fullPage: true });
await sheet.close();
await page.context().close();
await machine[Symbol.asyncDispose]();
await server.close();
await plane.close();
console.log(`${frames.length} pictures in ${target}`);
