import { expect, test } from "vitest";
import { ask } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";

const { plane, routes } = planeForFile();

/** Without HEAD, which some responses to GET have and some have not. */
const methods = ["DELETE", "GET", "LOCK", "OPTIONS", "PATCH", "POST", "PUT", "UNLOCK"];

test("a method that a known path does not have is 405 with those that it has", async () => {
  const byPath = Map.groupBy(routes, ({ url }) => url.replaceAll(/:\w+/g, "x"));
  expect(byPath.size).toBeGreaterThan(100);
  for (const [path, found] of byPath) {
    // Such as `current`, which is an id, too.
    const also = byPath.get(path.replace(/[^/]+$/, "x")) ?? [];
    const allowed = new Set([...found, ...also].map(({ method }) => method));
    const other = methods.filter((one) => !allowed.has(one));
    for (const method of other) {
      const response = await ask(plane, method, `${path}?query=1`);
      expect([method, path, response.status]).toEqual([method, path, 405]);
      const said = String(response.headers.allow)
        .split(", ")
        .filter((one) => one !== "HEAD");
      expect(said).toEqual([...allowed].toSorted());
    }
  }
});

test("says which methods there are, and that a path without any does not exist", async () => {
  expect((await ask(plane, "PUT", "/api/cli/zones")).json()).toMatchObject({
    code: "method_not_allowed",
    detail: "/api/cli/zones has no PUT, but GET, HEAD, POST",
  });
  for (const path of [
    "/api/cli/zone",
    "/api/cli/zones/",
    "/api/cli/zones/a/b/c",
    "/api/cli//zones",
  ])
    expect((await ask(plane, "PUT", path)).status).toBe(404);
  const page = await ask(plane, "GET", "/zones/x/team", { headers: { accept: "text/html" } });
  expect([page.status, page.headers.allow]).toEqual([405, "POST"]);
  expect(page.text).toContain("There is no such page");
});
