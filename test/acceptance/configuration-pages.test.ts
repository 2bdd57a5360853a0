/** Zones, configurations and cloud identities in a real browser. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { packDirectory } from "../../cli/configurations/pack.ts";
import { findingsOf } from "../helpers/console/accessibility.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import { withBrowser } from "../helpers/console/browser.ts";
import { writeFiles } from "../helpers/agent/fixtures.ts";
import { writeState } from "../helpers/console/sample-pages.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser, sampleSettings } from "../helpers/plane/sample-data.ts";

const { plane } = planeForFile(sampleSettings);
let fixture: SampleUser;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
});

const idIn = (page: Page): string => new URL(page.url()).pathname.split("/")[2] ?? "";
const press = (page: Page, name: string | RegExp) =>
  page.getByRole("button", { name, exact: true }).click();
const open = (page: Page, words: string) => page.locator("summary", { hasText: words }).click();
const openTab = (page: Page, name: string) =>
  page.locator(".tabs").getByRole("link", { name }).click();
const read = (name: string) => fixture.client.call("getConfiguration", { params: { name } });

describe("in a browser", () => {
  const visitor = withBrowser();

  test("a user creates a zone and a configuration, adds a plain and a sensitive variable, and plans", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    await page.getByRole("link", { name: "Zones" }).click();
    await page.getByLabel("Name").fill("edge");
    await press(page, "Create the zone");
    await page.getByText("No configuration in this zone yet").waitFor();
    await page.getByRole("link", { name: "New configuration" }).click();
    await page.getByLabel("Name", { exact: true }).fill("dns");
    await page.getByLabel("Files written here").check();
    expect(await page.getByLabel("Repository", { exact: true }).isVisible()).toBe(false);
    await page.getByLabel("Path").fill("main.tf");
    await page.getByLabel("Text").fill('variable "region" {}\n');
    await press(page, "Add a file");
    await page.getByLabel("Path").last().fill("sub/outputs.tf");
    await page.getByLabel("Text").last().fill("# none\n");
    await page.getByLabel("Labels").fill("eu, prod");
    await press(page, "Create the configuration");
    await page.getByText("No job yet.").waitFor();
    const id = idIn(page);

    await openTab(page, "Variables");
    for (const [name, value, isSecret] of [
      ["region", "eu-west-1", false],
      ["password", "hunter2-hunter2", true],
    ] as const) {
      await open(page, "Add a variable");
      const form = page.locator("form", { has: page.getByRole("button", { name: "Add" }) }).first();
      await form.getByLabel("Name").fill(name);
      await form.getByLabel("Value").fill(value);
      if (isSecret) await form.getByLabel("Sensitive: stored").check();
      await form.getByRole("button", { name: "Add" }).click();
      await page.locator(".entry", { hasText: name }).waitFor();
    }
    expect(await page.content()).not.toContain("hunter2");
    expect(await read(id)).toMatchObject({
      labels: ["eu", "prod"],
      source: { files: { "main.tf": 'variable "region" {}\n', "sub/outputs.tf": "# none\n" } },
      variables: { region: { value: "eu-west-1" }, password: { sensitive: true } },
    });

    await press(page, "Plan");
    await page.getByRole("heading", { name: "PLAN of dns" }).waitFor();
    const job = await fixture.read(idIn(page));
    expect(job).toMatchObject({ job_type: "PLAN", configuration_id: id, status: "QUEUED" });
    await press(page, "Cancel");
    await page.locator("#job .badge", { hasText: "Cancelled" }).waitFor();
    await page.getByRole("heading").getByRole("link", { name: "dns" }).click();
    const jobs = page.getByRole("region", { name: "Latest jobs" });
    expect(await jobs.innerText()).toMatch(/PLAN\s+Cancelled/);
    expect(complaints).toEqual([]);
  });

  test("a user edits settings and replaces a sensitive value; a refused form keeps its values but no secret", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    const id = await fixture.configure("edited");
    const variables = { password: { value: "hunter1", sensitive: true } };
    await fixture.client.call("updateConfiguration", {
      params: { name: id },
      body: { variables },
    });
    await fixture.configure("occupied");
    await page.goto(`${plane.url}/configurations/${id}`);
    await openTab(page, "Settings");
    await page.getByRole("link", { name: "Edit the settings" }).click();
    await page.getByLabel("Name", { exact: true }).fill("occupied");
    await page.getByLabel("Git repository").check();
    await page.getByLabel("Repository", { exact: true }).fill("https://git.example.com/x.git");
    await page.getByLabel("Version").fill("~> 1.14");
    await press(page, "Save");
    await page.getByText('The configuration "occupied" already exists').waitFor();
    expect(await page.getByLabel("Version").inputValue()).toBe("~> 1.14");
    expect(await findingsOf(page)).toEqual([]);
    expect(await read(id)).toMatchObject({ name: "edited", engine_version: null });
    await page.getByLabel("Name", { exact: true }).fill("edited twice");
    await press(page, "Save");
    await page.getByRole("heading", { name: "edited twice" }).waitFor();
    expect(await read(id)).toMatchObject({
      name: "edited twice",
      engine_version: "~> 1.14",
      source: { type: "git", url: "https://git.example.com/x.git" },
    });
    await openTab(page, "Variables");
    await page.locator(".entry", { hasText: "password" }).click();
    await page.getByLabel("New value").fill("[hunter2");
    await press(page, "Save");
    await page.getByText("Begins with [ but is not valid JSON").waitFor();
    expect(await page.getByLabel("New value").inputValue()).toBe("");
    expect(await findingsOf(page)).toEqual([]);
    expect(await page.content()).not.toContain("hunter2");
    await page.getByLabel("New value").fill("hunter3");
    await press(page, "Save");
    await page.locator(".error").waitFor({ state: "detached" });
    expect(await page.content()).not.toContain("hunter3");
    // The browser's console reports the refused requests.
    expect(complaints.map((text) => /4\d\d/.exec(text)?.[0])).toEqual(["409", "400"]);
  });

  test("an archive is uploaded when the user chooses it", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    await page.goto(`${plane.url}/zones/${fixture.owner.zone}/new`);
    await page.getByLabel("Name", { exact: true }).fill("archived");
    await page.getByLabel("Archive (.tar.gz)").check();
    const file = { name: "network.tar.gz", mimeType: "application/gzip", buffer: gzipSync("x") };
    await press(page, "Create the configuration");
    await page.getByText("Is missing: upload an archive first.").waitFor();
    // Its scripts have to listen.
    await page.waitForLoadState();
    await page.getByLabel("Upload a .tar.gz").setInputFiles({ ...file, buffer: Buffer.from("no") });
    await page.getByText("The upload was refused: the file is not in gzip format.").waitFor();
    await page.getByLabel("Upload a .tar.gz").setInputFiles(file);
    await page.getByText("network.tar.gz is uploaded.").waitFor();
    expect(await page.locator("[aria-invalid], .field .wrong:not(:empty)").count()).toBe(0);
    using folder = scratch();
    writeFiles(join(folder.path, "envs/prod"), { "main.tf": "" });
    const { bytes: buffer } = await packDirectory(folder.path);
    await page.getByLabel("Upload a .tar.gz").setInputFiles({ ...file, buffer });
    const warning = page.getByText(
      "The archive has no .tf files in its top directory, so jobs would fail. It has some in envs/prod: check the working directory.",
    );
    await warning.waitFor();
    expect(await findingsOf(page)).toEqual([]);
    // The check above has opened the other settings.
    await page.getByLabel("Working directory").fill("./envs/prod/");
    await page.getByLabel("Working directory").blur();
    await warning.waitFor({ state: "detached" });
    await page.getByLabel("Working directory").fill("");
    await press(page, "Create the configuration");
    await page.getByText("No job yet.").waitFor();
    const { source } = await read(idIn(page));
    expect(source).toEqual({ type: "archive", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(complaints.map((text) => /4\d\d/.exec(text)?.[0])).toEqual(["400", "400"]);
  });

  test("a user downloads, unlocks and rolls back a state; a configuration with resources cannot be deleted", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    const id = await fixture.configure("stateful");
    await writeState(plane, fixture, id);
    await page.goto(`${plane.url}/configurations/${id}/state`);
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download" }).last().click();
    expect((await download).suggestedFilename()).toBe("stateful-1.tfstate");
    await open(page, "Roll back");
    await press(page, "Roll back to 1");
    await page.getByText("wait for the job that holds the lock, or unlock the state").waitFor();
    await open(page, "Unlock");
    await press(page, "It is no longer running: unlock");
    await page.getByText("whose outcome is unknown").waitFor({ state: "detached" });
    await open(page, "Roll back");
    await press(page, "Roll back to 1");
    await page.getByRole("cell", { name: "rolled back to 1" }).waitFor();
    const { state_versions } = await fixture.client.call("listStateVersions", {
      params: { name: id },
      query: {},
    });
    expect(state_versions.map(({ serial }) => serial)).toEqual([3, 2, 1]);
    await openTab(page, "Settings");
    await open(page, "Delete this configuration");
    await press(page, "Delete the configuration");
    await page.getByText("Its managed state records 1 resource: destroy them first.").waitFor();
    expect(complaints.join()).toMatch(/423.*409/);
  });

  test("a user creates a cloud identity, copies its trust policy and deletes it", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.getByRole("link", { name: "Identities" }).click();
    await page.getByText("No identity yet").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("prod");
    await page.getByLabel("Role at AWS").fill("arn:aws:iam::123456789012:role/terraform");
    await press(page, "Create the identity");
    const principal = "arn:aws:iam::210987654321:role/runners";
    await page.getByLabel("Principal of the workers").fill(principal);
    await press(page, "Show the policy for it");
    await page.getByText(`"AWS": "${principal}"`).first().waitFor();
    await press(page, "Copy the policy");
    await page.getByText("Copied.").waitFor();
    const copied = JSON.parse(await page.evaluate<string>("navigator.clipboard.readText()"));
    const params = { id: idIn(page) };
    expect(copied).toEqual(
      await fixture.client.call("getTrustPolicy", { params, query: { principal } }),
    );
    await open(page, "Delete this identity");
    await press(page, "Delete the identity");
    await page.getByText("No identity yet").waitFor();
    expect(complaints).toEqual([]);
  });

  test("without JavaScript, saving an unchanged form changes no byte of a configuration", async () => {
    const { page } = await visitor.visit(plane, fixture.email, { javaScriptEnabled: false });
    const files = {
      "main.tf": '\n\n  "<b>&amp;</b>" </textarea> ${x}\n\n',
      "windows.tf": "a\r\nb\r\n",
      "empty.tf": "",
    };
    const { id } = await fixture.client.call("createConfiguration", {
      body: { name: "unchanged", zone_id: fixture.owner.zone, source: { type: "inline", files } },
    });
    const before = await read(id);
    await page.goto(`${plane.url}/configurations/${id}/edit`);
    await press(page, "Save");
    await page.getByRole("heading", { name: "unchanged" }).waitFor();
    expect(await read(id)).toEqual(before);
    await page.goto(`${plane.url}/configurations/${id}/edit`);
    await page.getByLabel("Text").nth(2).fill("# now\n");
    await page.getByLabel("Remove windows.tf").check();
    await press(page, "Save");
    await page.getByRole("heading", { name: "unchanged" }).waitFor();
    const { source } = await read(id);
    expect(source).toEqual({
      type: "inline",
      files: { "main.tf": files["main.tf"], "empty.tf": "# now\n" },
    });
  });
});
