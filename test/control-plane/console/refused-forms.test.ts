/** Forms that are refused before their handler runs are answered with a page. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { formLimit } from "../../../control-plane/console/configurations/configuration-form-routes.ts";
import { attributes, type Fields } from "../../helpers/console/forms.ts";
import { openPerson, type Person } from "../../helpers/people/sign-in.ts";
import { ask } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { makeSpace } from "../../helpers/plane/role-space.ts";
import { join } from "../../helpers/people/teams.ts";

const { plane } = planeForFile();
let browser: Person;
beforeAll(async () => {
  browser = await openPerson(plane);
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

describe("a form with a value that is not valid", () => {
  const name = "long";
  const git = { source: "git", url: "https://git.example.com/a.git", engine: "terraform" };
  const role_arn = "arn:aws:iam::123456789012:role/i";
  let space: Awaited<ReturnType<typeof makeSpace>>;
  let admin: Person;
  beforeAll(async () => {
    space = await makeSpace(plane);
    admin = await openPerson(plane);
    await join(plane, space.admin, space.slug, admin, "admin");
  });

  it.each<[path: string, fields: Fields, marked: string[]]>([
    ["/zones", { name }, ["name"]],
    ["/zones/:id", { name }, ["name"]],
    ["/zones/:id/new", { ...git, name }, ["name"]],
    ["/zones/:id/new", { ...git, name, project_name: "short" }, ["name"]],
    ["/zones/:id/new", { ...git, name: "short", project_name: name }, ["project_name"]],
    ["/zones/:id/new", { ...git, name: "" }, ["name"]],
    ["/zones/:id/new", { ...git, name: "x", ref: "--upload-pack=x" }, ["ref"]],
    ["/zones/:id/new", { ...git, name: "x", path: "../.." }, ["path"]],
    ["/zones/:id/new", { ...git, name: "x", working_directory: ".." }, ["working_directory"]],
    ["/configurations/:id/edit", { ...git, zone_id: randomUUID(), name }, ["name"]],
    ["/variable-sets", { name }, ["name"]],
    ["/variable-sets/:id", { name }, ["name"]],
    ["/identities", { name, role_arn }, ["name"]],
    ["/identities/:id", { name, role_arn }, ["name"]],
    ["/connections/new", { name: "x", kind: "forgejo", credential: "t" }, ["base_url"]],
    ["/connections/new", { name: "x", kind: "gitlab" }, ["credential"]],
    ["/notifications/new", { name, kind: "slack", url: "x" }, ["name", "url", "more_events"]],
    [
      "/notifications/:id",
      { name, events: "deployed", stalled_minutes: "0" },
      ["name", "stalled_minutes"],
    ],
    ["/connections/:id", { name, poll_seconds: "5" }, ["name", "poll_seconds"]],
    ["/workers/:id/edit", { name }, ["name"]],
    ["/teams", { name }, ["name"]],
    ["/teams/:slug", { name }, ["name"]],
  ])("at %s with %j marks %j", async (url, fields, marked) => {
    const long = Object.entries(fields).map(([field, text]) => [
      field,
      text === name ? "x".repeat(300) : text,
    ]);
    const path = space.pathOf("POST", url);
    const answer = await admin.post(path, Object.fromEntries(long));
    expect(answer.status).toBe(400);
    expect(attributes(answer, "[aria-invalid]", "name")).toEqual(marked);
  });
});
