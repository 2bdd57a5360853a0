/** Forms that are refused before their handler runs are answered with a page. */
import { beforeAll, describe, expect, it } from "vitest";
import { formLimit } from "../../../control-plane/console/configurations/configuration-form-routes.ts";
import { ask } from "../../helpers/plane.ts";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { openBrowser, type Browser } from "../../helpers/sign-in.ts";

const { plane } = planeForFile();
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser(plane);
});

const post = (type: string, body: string) =>
  ask(plane, "POST", "/zones/0198c0de-0000-7000-8000-000000000000/new", {
    headers: { ...browser.headers, "content-type": type },
    body,
  });

const form = "application/x-www-form-urlencoded";

describe("a form", () => {
  it.each([
    ["that is too large", form, `a=${"x".repeat(formLimit)}`, 413, "The body is too large"],
    ["of another content type", "text/plain", "a=1", 415, "This content type is not accepted here"],
  ])("%s is refused with a page", async (_, type, body, status, title) => {
    const answer = await post(type, body);
    expect(answer.status).toBe(status);
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(answer.text).toContain(`<h1>${title}</h1>`);
  });
});
