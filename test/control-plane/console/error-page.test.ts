import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { words } from "../../helpers/console/forms.ts";
import { ask } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openTeam } from "../../helpers/people/people.ts";
import { openBrowser, type Browser } from "../../helpers/people/sign-in.ts";

const { plane } = planeForFile();
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser(plane);
});

const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
const navigation = '<nav aria-label="Pages">';

describe("an error in a browser", () => {
  it.each(["/nope", "/nope/", `/jobs/${randomUUID()}`])(
    "at %s is a page with the navigation",
    async (path) => {
      const answer = await ask(plane, "GET", path, { headers: { ...browser.headers, accept } });
      expect(answer.status).toBe(404);
      expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(answer.text).toContain(navigation);
      expect(answer.text).toContain(browser.email);
    },
  );

  it("of an address that cannot be decoded is a page with the navigation", async () => {
    const headers = { ...browser.headers, accept };
    const { status, text } = await ask(plane, "GET", "/%E0%A4%A", { headers });
    expect([status, text.includes(navigation)]).toEqual([400, true]);
  });

  it("names the page, or says what is not there", async () => {
    const { text } = await ask(plane, "GET", "/nope", { headers: { ...browser.headers, accept } });
    expect(text).toMatch(/<title>There is no such page\b/);
    const at = async (path: string) =>
      words(await ask(plane, "GET", path, { headers: { ...browser.headers, accept } }));
    expect(await at("/nope?a=b")).toContain(
      "There is no such page This server has no page /nope. ",
    );
    expect(await at(`/jobs/${randomUUID()}`)).toContain("Not found There is no such job. ");
    for (const path of ["/teams/none", "/?team=none"])
      expect(await at(path)).toContain(
        'Not found There is no team "none" of which you are a member. ',
      );
  });

  it("stays in the team of the address, if the user is a member", async () => {
    const { admin, slug } = await openTeam(plane);
    const at = async (path: string) =>
      (await ask(plane, "GET", path, { headers: { ...admin.headers, accept } })).text;
    const text = await at(`/nope?team=${slug}`);
    expect(text).toContain("There is no such page");
    expect(text).toContain(`<summary aria-label="Space: ${slug}">`);
    expect(text).toContain(`href="/jobs?team=${slug}"`);
    for (const path of ["/nope", "/nope?team=another"]) {
      expect(await at(path)).toContain('<summary aria-label="Space: Personal">');
      expect(await at(path)).toContain('href="/jobs"');
    }
  });

  it("has no navigation without a session", async () => {
    const answer = await ask(plane, "GET", "/nope", { headers: { accept } });
    expect(answer.status).toBe(404);
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(answer.text).not.toContain(navigation);
  });

  it.each([
    ["GET", "/nope", "application/json"],
    ["GET", "/nope", undefined],
    ["GET", "/api/nope", accept],
    ["POST", "/nope", accept],
  ])("%s %s with Accept %s is a problem document", async (method, path, type) => {
    const headers = type === undefined ? {} : { accept: type };
    const answer = await ask(plane, method, path, { headers: { ...browser.headers, ...headers } });
    expect(answer.status).toBe(404);
    expect(answer.headers["content-type"]).toContain("application/problem+json");
    expect(answer.json().code).toBe("not_found");
  });
});
