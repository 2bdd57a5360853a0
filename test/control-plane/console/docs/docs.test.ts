import { describe, expect, it } from "vitest";
import { problemCodes } from "../../../../protocol/problem.ts";
import { ask } from "../../../helpers/plane/plane.ts";
import { attributes, texts } from "../../../helpers/console/forms.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();

describe("the API documentation page", () => {
  it("loads only files of this server", async () => {
    const { status, headers, text } = await ask(plane, "GET", "/docs");
    expect(status).toBe(200);
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).not.toMatch(/https?:|script-src[^;]*unsafe|upgrade-insecure-requests/);
    const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url);
    const paths = named.filter((url) => url !== "data:,").map(String);
    expect(paths).toHaveLength(4);
    for (const path of paths) {
      expect(path).toMatch(/^\/[^/]/);
      const file = await ask(plane, "GET", path);
      expect(file.status).toBe(200);
      expect(file.body.length).toBeGreaterThan(100);
    }
  });

  it("shows the document that the server serves", async () => {
    const { headers, body } = await ask(plane, "GET", "/docs/start.js");
    expect(headers["content-type"]).toContain("text/javascript");
    const [, url = ""] = /url: "([^"]+)"/.exec(body.toString()) ?? [];
    expect((await ask(plane, "GET", url)).json()["openapi"]).toMatch(/^3\.1\./);
  });

  it("is linked on every page", async () => {
    expect(attributes(await ask(plane, "GET", "/login"), "a")).toContain("/docs");
  });
});

describe("the page of a problem type", () => {
  it("exists for every problem code, and names the endpoints that return it", async () => {
    const pages = await Promise.all(
      Object.keys(problemCodes).map((code) => ask(plane, "GET", `/problems/${code}`)),
    );
    expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 200));
    const page = await ask(plane, "GET", "/problems/plan_is_stale");
    expect(texts(page, "code")).toContain("POST /api/jobs");
    expect((await ask(plane, "GET", "/problems/constructor")).status).toBe(404);
  });
});
