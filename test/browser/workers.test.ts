/** Workers in a real browser with the real API. */
import { describe, expect, test } from "vitest";
import { withBrowser } from "../helpers/console/browser.ts";
import { ask } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  ask(plane, "POST", path, {
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

describe("in a browser", () => {
  const visitor = withBrowser();

  test("a user adds a worker with a token shown once, drains it, rotates its token and removes it", async () => {
    const { page, complaints } = await visitor.visit(plane, "bob@example.com");
    await page.goto(`${plane.url}/workers`);
    await page.getByRole("button", { name: "Add a worker" }).click();
    const token = (await page.locator(".secret").textContent())?.trim() ?? "";
    await page.getByText(`--url ${plane.url} --registration-token-file -`).waitFor();
    const registration = { "x-registration-token": token };
    const made = await post("/api/workers/register", { name: "runner-1" }, registration);
    expect(made.status).toBe(201);
    await page.getByRole("link", { name: "To the workers" }).click();
    expect(await page.content()).not.toContain(token);
    await page.getByRole("link", { name: "runner-1" }).click();
    await page.getByRole("button", { name: "Drain: take no new jobs" }).click();
    await page.getByRole("button", { name: "Take jobs again" }).click();
    await page.getByText("New token…").click();
    await page.getByLabel("End the old token at once").check();
    await page.getByRole("button", { name: "Create a new token" }).click();
    const rotated = (await page.locator(".secret").textContent())?.trim() ?? "";
    const headers = { "x-worker-id": String(made.json()["worker_id"]) };
    const beat = (secret: string) =>
      post(
        "/api/workers/heartbeat",
        { version: "0.1.0" },
        { ...headers, "x-worker-token": secret },
      );
    expect((await beat(String(made.json()["worker_token"]))).status).toBe(401);
    expect((await beat(rotated)).status).toBe(200);
    await page.getByRole("link", { name: "To the worker" }).click();
    await page.getByText("Online").waitFor();
    await page.getByText("Remove this worker…").click();
    await page.getByRole("button", { name: "Remove the worker" }).click();
    await page.getByText("No worker yet").waitFor();
    expect((await beat(rotated)).status).toBe(401);
    await page.goto(`${plane.url}/audit`);
    await page.getByText("replaced the token of the worker").waitFor();
    expect(complaints).toEqual([]);
  });
});
