import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { attributes, texts, words } from "../../helpers/console/forms.ts";
import { ask, type TestResponse } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { openTeam } from "../../helpers/people/teams.ts";
import { openPerson, type Person } from "../../helpers/people/sign-in.ts";

const { plane } = planeForFile();
let browser: Person;
beforeAll(async () => {
  browser = await openPerson(plane);
});

const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
const hasNavigation = (page: TestResponse) => texts(page, 'nav[aria-label="Pages"]').length === 1;

describe("an error in a browser", () => {
  it.each(["/nope", "/nope/", `/jobs/${randomUUID()}`])(
    "at %s is a page with the navigation",
    async (path) => {
      const answer = await ask(plane, "GET", path, { headers: { ...browser.headers, accept } });
      expect(answer.status).toBe(404);
      expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(hasNavigation(answer)).toBe(true);
      expect(answer.text).toContain(browser.email);
    },
  );

  it("of an address that cannot be decoded is a page with the navigation", async () => {
    const headers = { ...browser.headers, accept };
    const answer = await ask(plane, "GET", "/%E0%A4%A", { headers });
    expect([answer.status, hasNavigation(answer)]).toEqual([400, true]);
  });

  it("names the page, or says what is not there", async () => {
    const read = (path: string) =>
      ask(plane, "GET", path, { headers: { ...browser.headers, accept } });
    const at = async (path: string) => words(await read(path));
    expect(texts(await read("/nope"), "title")[0]).toMatch(/^There is no such page\b/);
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
    for (const [path, space, jobs] of [
      [`/nope?team=${slug}`, slug, `/jobs?team=${slug}`],
      ["/nope", "Personal", "/jobs"],
      ["/nope?team=another", "Personal", "/jobs"],
    ] as const) {
      const page = await ask(plane, "GET", path, { headers: { ...admin.headers, accept } });
      expect(words(page)).toContain("There is no such page");
      expect(attributes(page, "summary", "aria-label")).toContain(`Space: ${space}`);
      expect(attributes(page, "a")).toContain(jobs);
    }
  });

  it("has no navigation without a session", async () => {
    const answer = await ask(plane, "GET", "/nope", { headers: { accept } });
    expect(answer.status).toBe(404);
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(hasNavigation(answer)).toBe(false);
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
