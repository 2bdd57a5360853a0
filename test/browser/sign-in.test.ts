/** Signing in and out in a real browser. */
import { AxeBuilder } from "@axe-core/playwright";
import { describe, expect, test } from "vitest";
import { withBrowser } from "../helpers/console/browser.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { newLink } from "../helpers/people/sign-in.ts";

const { plane } = planeForFile();

describe("in a browser", () => {
  const visitor = withBrowser();

  test("a one-time link opens the overview, and signing out opens the sign-in page", async () => {
    const { page, complaints } = await visitor.visit(plane, "ada@example.com");
    expect(new URL(page.url()).pathname).toBe("/");
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Overview");
    await page.locator(".account summary").click();
    await page.getByRole("button", { name: "Sign out" }).click();
    expect(new URL(page.url()).pathname).toBe("/login");
    await page.goto(`${plane.url}/`);
    expect(new URL(page.url()).pathname).toBe("/login");
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("a form that is sent after the login ended keeps its text until the person signed in again", async () => {
    const { page } = await visitor.visit(plane, "ada@example.com");
    await page.goto(`${plane.url}/zones`);
    const name = page.getByLabel("Name");
    const create = page.getByRole("button", { name: "Create the zone" });
    await name.fill("staging");
    await page.context().clearCookies();
    await create.click();
    await page.getByText("Nothing was sent. You are signed out.").waitFor();
    expect(await name.inputValue()).toBe("staging");
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations).toEqual([]);
    const [other] = await Promise.all([
      page.waitForEvent("popup"),
      page.getByRole("link", { name: "Sign in in another tab" }).click(),
    ]);
    await other.goto(plane.url + (await newLink(plane, "ada@example.com")));
    await other.close();
    await create.click();
    await page.getByRole("heading", { level: 1, name: "staging" }).waitFor();
  });

  test("a form that was refused can be come back to, reloaded and sent to a colleague", async () => {
    const { page } = await visitor.visit(plane, "ada@example.com");
    const heading = page.getByRole("heading", { level: 1, name: "Zones" });
    // The page of the answer gets its address before it is loaded.
    const send = (name: string) =>
      Promise.all([page.waitForEvent("load"), page.getByRole("button", { name }).click()]);
    await page.goto(`${plane.url}/zones`);
    for (const name of [" ", "  "]) {
      await page.getByRole("textbox", { name: "Name" }).fill(name);
      await send("Create the zone");
      await page.getByRole("alert").waitFor();
    }
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.goBack();
    await heading.waitFor();
    // A form whose own address is no page.
    await page.goto(`${plane.url}/settings`);
    await page.getByRole("textbox", { name: "Name" }).fill("ci");
    await send("Create the token");
    await page.getByText("wlt_").first().waitFor();
    expect(page.url()).toBe(`${plane.url}/settings`);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    expect(await page.getByRole("button", { name: "Revoke ci" }).count()).toBe(1);
  });

  test("a page that is redrawn keeps what is typed after the login ended", async () => {
    const { page } = await visitor.visit(plane, "ada@example.com");
    await page.goto(`${plane.url}/zones`);
    await page.getByRole("link", { name: "staging" }).click();
    const name = page.getByRole("textbox", { name: "Name" });
    await name.fill("production");
    await page.context().clearCookies();
    const drawn = page.waitForResponse((answer) => answer.url().includes("/login"));
    await page.evaluate(`document.dispatchEvent(new Event("progress"))`);
    await drawn;
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByText("Nothing was sent. You are signed out.").waitFor();
    expect(await name.inputValue()).toBe("production");
  });
});
