/** The page of a deployment that needs approvals. */
import { describe, expect, test } from "vitest";
import { approvalSteps } from "../helpers/people/approvals.ts";
import { withBrowser } from "../helpers/console/browser.ts";
import { addPerson, addTeamSpec, callsWithin, openTeam } from "../helpers/people/teams.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();

/** A deployment that waits for so many approvals, and a deployer beside its author. */
async function openWaiting(count: number) {
  const team = await openTeam(plane);
  const { spec, runner } = await addTeamSpec(plane, team.slug);
  const calls = callsWithin(plane, team.admin.headers, team.slug);
  const steps = approvalSteps(plane, calls, runner, spec);
  await steps.rule({ count });
  const { id } = await steps.deploy(await steps.plan());
  return { team, id, spec, calls, grace: await addPerson(plane, team, "deployer") };
}

describe("the page of a deployment that needs approvals", () => {
  const visitor = withBrowser();

  test.each(["approve", "reject"] as const)(
    "breaks a long word in the comment of a decision to %s",
    async (decision) => {
      const { team, id, grace } = await openWaiting(2);
      const comment = `https://tickets.example.com/${"z".repeat(900)}`;
      await grace.post(`/jobs/${id}/approvals`, { decision, comment });
      const viewport = { width: 390, height: 800 };
      const { page } = await visitor.visit(plane, team.admin.email, { viewport });
      for (const path of [`/jobs/${id}`, `/?team=${team.slug}`, `/jobs?team=${team.slug}`]) {
        await page.goto(plane.url + path);
        const width = await page.evaluate<number>("document.documentElement.scrollWidth");
        expect([path, width]).toEqual([path, viewport.width]);
      }
      await page.goto(`${plane.url}/jobs/${id}`);
      await page.locator(".decisions .comment").waitFor();
    },
  );

  test("keeps a comment that is being typed when another person makes the plan stale", async () => {
    const { id, spec, calls, grace } = await openWaiting(1);
    const { page } = await visitor.visit(plane, grace.email);
    await page.goto(`${plane.url}/jobs/${id}`);
    const comment = page.getByRole("textbox", { name: "Comment" });
    await comment.pressSequentially("only the bastion");
    await calls.call("updateConfiguration", {
      params: { name: spec },
      body: { variables: { size: { value: 4 } } },
    });
    await page.evaluate(`document.dispatchEvent(new Event("progress"))`);
    await page.getByText("The plan can no longer be applied.").first().waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    expect(await comment.inputValue()).toBe("only the bastion");
    expect(await page.evaluate("document.activeElement.name")).toBe("comment");
    await page.keyboard.type(" changes");
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByText("only the bastion changes").first().waitFor();
  });

  test("keeps why a form was refused while the page is redrawn", async () => {
    const { team, id, grace } = await openWaiting(1);
    const { page } = await visitor.visit(plane, grace.email);
    await page.goto(`${plane.url}/jobs/${id}`);
    const params = { slug: team.slug, user_id: grace.id };
    await team.admin.client.call("updateMember", { params, body: { role: "planner" } });
    // The page may have been redrawn already, without the button.
    await page.evaluate(`document.getElementById("cancel").form.submit()`);
    const refusal = page.getByText("Nothing was changed. This needs the role deployer.");
    await refusal.waitFor();
    await page.evaluate(`new Promise((resolve) => {
      document.addEventListener("drawn", () => resolve(true), { once: true });
      document.dispatchEvent(new Event("progress"));
    })`);
    expect(await refusal.isVisible()).toBe(true);
  });
});
