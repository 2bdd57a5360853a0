/** What the pages look like to a member whose role does not permit everything. */
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { approvalSteps } from "../helpers/people/approvals.ts";
import { withBrowser } from "../helpers/console/browser.ts";
import { addPerson, addTeamSpec, callsWithin, openTeam } from "../helpers/people/teams.ts";
import { addHeldJob, ask } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();

/** A viewer, a plan that destroys something, and a job with a debug log. */
async function openViewed() {
  const team = await openTeam(plane);
  const { space, spec, worker, runner } = await addTeamSpec(plane, team.slug);
  const calls = callsWithin(plane, team.admin.headers, team.slug);
  const plan = await approvalSteps(plane, calls, runner, spec).plan({ delete: 1 });
  const over = { status: "FAILED", features: '["debug"]', ended_at: 2, released_at: 2 } as const;
  const debugged = await addHeldJob(plane, space, worker, { ...over, spec_id: spec });
  const path = `/api/jobs/${debugged.id}/debug-log`;
  await ask(plane, "POST", path, { headers: worker.headers, body: gzipSync("it") });
  const { email } = await addPerson(plane, team, "viewer");
  return { email, plan: plan.id, debugged: debugged.id };
}

/**
 * A script that returns the contrast of an element with what is behind it, as WCAG computes it, and
 * whether it is off. Axe leaves out buttons that are off.
 */
const contrastOf = (selector: string) => `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const luminance = (...colors) => {
    for (const color of colors) {
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
    }
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((one) =>
      one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const element = document.querySelector(${JSON.stringify(selector)});
  const behind = [];
  for (let one = element; one; one = one.parentElement) behind.unshift(getComputedStyle(one).backgroundColor);
  const [dark, light] = [luminance(...behind), luminance(...behind, getComputedStyle(element).color)].sort((a, b) => a - b);
  return { isOff: element.disabled, contrast: (light + 0.05) / (dark + 0.05) };
})()`;

describe("the page of a job, to a viewer", () => {
  const visitor = withBrowser();
  let viewed: Awaited<ReturnType<typeof openViewed>>;
  beforeAll(async () => {
    viewed = await openViewed();
  });

  test.each(["light", "dark"] as const)(
    "has a button of a danger that is off and can be read, in the %s theme",
    async (colorScheme) => {
      const { page } = await visitor.visit(plane, viewed.email, { colorScheme });
      await page.goto(`${plane.url}/jobs/${viewed.plan}`);
      const measured = await page.evaluate<{ isOff: boolean; contrast: number }>(
        contrastOf("#deploy.danger"),
      );
      expect(measured.isOff).toBe(true);
      expect(measured.contrast).toBeGreaterThan(4.5);
    },
  );

  test("names the role of a button below it, before the box to tick", async () => {
    const { page } = await visitor.visit(plane, viewed.email);
    await page.goto(`${plane.url}/jobs/${viewed.plan}`);
    const form = page.locator("form", { has: page.locator("#deploy") });
    const tops = await form.evaluate((element) =>
      ["button", ".needs", ".tick"].map(
        (one) => element.querySelector(one)?.getBoundingClientRect().top ?? 0,
      ),
    );
    expect(tops).toEqual(tops.toSorted((one, other) => one - other));
    expect(await form.locator(".needs").textContent()).toBe("Needs the role deployer");
    expect(await form.getByRole("checkbox").isDisabled()).toBe(true);
  });

  test("has the link to the debug log on one line, and the role that it needs below it", async () => {
    const { page } = await visitor.visit(plane, viewed.email, {
      viewport: { width: 1280, height: 800 },
    });
    await page.goto(`${plane.url}/jobs/${viewed.debugged}`);
    const text = page.locator("p", { hasText: "debug log" });
    const lines = (await text.innerText()).split("\n").map((line) => line.trim());
    expect(lines).toEqual([
      expect.stringMatching(/^Terraform's debug log .* Download it \(\d+\sB, gzip\)$/),
      "Needs the role deployer",
    ]);
    expect(await text.evaluate(({ clientHeight }) => clientHeight)).toBeLessThan(60);
  });
});
