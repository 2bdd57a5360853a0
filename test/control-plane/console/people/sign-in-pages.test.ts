import { asset } from "../../../../control-plane/console/assets.ts";
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { attributes, texts, words } from "../../../helpers/console/forms.ts";
import { ask, type TestResponse } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { cookieOf, newLink, openPerson } from "../../../helpers/people/sign-in.ts";

const { plane } = planeForFile();

const page = (path: string, headers: Record<string, string> = {}) =>
  ask(plane, "GET", path, { headers });
const submit = (path: string, fields: Record<string, string>, headers: Record<string, string>) =>
  ask(plane, "POST", path, {
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(fields).toString(),
  });
const codeIn = (shown: TestResponse) => texts(shown, "p.code")[0];

describe("approving a device without a script", () => {
  test("shows the user and the device, and then the code that the client exchanges", async () => {
    const { email, headers } = await openPerson(plane, "o'neil&sons@example.com");
    const device_code = randomUUID();
    const asked = await page(`/cli/login?device_code=${device_code}`, headers);
    expect(asked.status).toBe(200);
    expect(words(asked)).toContain("o'neil&sons@example.com");
    expect(attributes(asked, "[name=device_code]", "value")).toEqual([device_code]);
    expect(codeIn(asked)).toBeUndefined();
    expect(asked.text).not.toContain("data-refresh");

    const shown = await submit("/cli/login", { device_code }, headers);
    expect(shown.status).toBe(200);
    const verification_code = codeIn(shown);
    expect(verification_code).toMatch(/^[A-Z2-9]{6}$/);
    expect(codeIn(await submit("/cli/login", { device_code }, headers))).toBe(verification_code);

    const exchanged = await ask(plane, "POST", "/api/auth/cli/exchange", {
      json: { device_code, verification_code },
    });
    expect(exchanged.json()).toMatchObject({ user_email: email });
    // Only a code that waits is worth asking for again.
    expect(shown.text).toContain('data-refresh="1"');
    const used = await page(`/cli/login?device_code=${device_code}`, headers);
    expect(used.text).toContain("The client is signed in");
    expect(used.text).not.toContain("data-refresh");
  });

  test("approves nothing when the page is only viewed", async () => {
    const { headers } = await openPerson(plane);
    const device_code = randomUUID();
    await page(`/cli/login?device_code=${device_code}`, headers);
    const exchanged = await ask(plane, "POST", "/api/auth/cli/exchange", {
      json: { device_code, verification_code: "AAAAAA" },
    });
    expect(exchanged.json()).toMatchObject({ code: "authorization_pending" });
  });

  test("redirects an unauthenticated user to the sign-in page and back", async () => {
    const path = `/cli/login?device_code=${randomUUID()}`;
    const sent = await page(path);
    expect(sent.status).toBe(303);
    const login = String(sent.headers["location"]);
    expect(login).toBe(`/login?next=${encodeURIComponent(path)}`);
    const shown = await page(login);
    expect(shown.status).toBe(200);
    expect(attributes(shown, "a")).toContain(path);
    expect((await submit("/cli/login", {}, {})).headers["location"]).toBe("/login");
  });

  test("redirects from a form to the sign-in page, which says so, and back to the page of the form", async () => {
    const of = async (path: string, referer: string): Promise<string> =>
      String((await submit(path, { name: "x" }, { referer })).headers["location"]);
    const path = "/zones?team=platform";
    const login = await of("/zones", plane.url + path);
    expect(login).toBe(`/login?next=${encodeURIComponent(path)}&unsent`);
    const { text } = await page(login);
    expect(text).toContain("what you sent changed nothing");
    expect(attributes(text, "a")).toContain(path);
    expect(await of("/zones", "https://evil.example/zones")).toBe("/login");
    expect(await of("/logout", plane.url)).toBe("/login");
    expect((await page("/login")).text).not.toContain("what you sent");
  });

  test("refuses a form of another site, on a page", async () => {
    const { headers } = await openPerson(plane);
    const fields = { device_code: randomUUID() };
    const refused = await submit("/cli/login", fields, {
      ...headers,
      origin: "https://evil.example",
    });
    expect(refused.status).toBe(403);
    expect(refused.headers["content-type"]).toContain("text/html");
    expect(codeIn(refused)).toBeUndefined();
  });

  test("says why a device code cannot be approved", async () => {
    const [ada, eve] = [await openPerson(plane), await openPerson(plane)];
    const fields = { device_code: randomUUID() };
    await submit("/cli/login", fields, ada.headers);
    const taken = await submit("/cli/login", fields, eve.headers);
    expect(taken.status).toBe(409);
    expect(taken.text).toContain("belongs to another user");
    for (const device_code of ["", "1", "<script>alert(1)</script>"]) {
      expect((await submit("/cli/login", { device_code }, ada.headers)).status).toBe(400);
      const asked = await page(
        `/cli/login?device_code=${encodeURIComponent(device_code)}`,
        ada.headers,
      );
      expect(asked.status).toBe(400);
      expect(attributes(asked, "script", "src")).toEqual(
        ["live.js", "keys.js", "forms.js", "copy.js"].map(asset),
      );
    }
  });
});

describe("a one-time link", () => {
  const open = async (cookie = "") =>
    page(await newLink(plane, "ada@example.com"), cookie === "" ? {} : { cookie });

  test("opens the page that was asked for before", async () => {
    const next = `/jobs?status=${encodeURIComponent("FAILED é")}`;
    const login = await page(`/login?next=${encodeURIComponent(next)}`);
    const kept = cookieOf(login) ?? "";
    const opened = await open(kept);
    expect([opened.status, opened.headers["location"]]).toEqual([303, next]);
    expect(opened.headers["set-cookie"]).toContainEqual(
      expect.stringMatching(/^windlass_next=; Max-Age=0;/),
    );
    expect(cookieOf(await page("/login", { cookie: kept }))).toBe("windlass_next=");
  });

  test("opens the overview if none was asked for, or not of this site", async () => {
    expect((await open()).headers["location"]).toBe("/");
    for (const next of ["https://evil.example/", "//evil.example/", "%"])
      expect((await open(`windlass_next=${next}`)).headers["location"]).toBe("/");
    expect((await page("/login?next=//evil.example/")).headers).not.toHaveProperty("set-cookie");
  });

  test("that was used says who is signed in, with the way on", async () => {
    const link = await newLink(plane, "ada@example.com");
    const cookie = cookieOf(await page(link)) ?? "";
    const again = await page(link, { cookie });
    expect(again.status).toBe(410);
    expect(words(again)).toContain(
      "You are signed in as ada@example.com . To the overview To sign in as another person",
    );
    expect(texts(again, 'nav[aria-label="Pages"]')).toHaveLength(1);
    const signedOut = await page(link);
    expect(signedOut.status).toBe(410);
    expect(signedOut.text).not.toContain("ada@example.com");
    expect(texts(signedOut, "nav")).toEqual([]);
  });
});

describe("the sign-in page", () => {
  test.each([
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "/\t/evil.example/",
    "/.//evil.example/",
    "/x/..//evil.example/",
    "javascript:alert(1)",
    "data:text/html,x",
    "",
  ])("does not link to %j, which is not a path of this site", async (next) => {
    const { body } = await page(`/login?next=${encodeURIComponent(next)}`);
    expect(body.toString()).not.toContain("the page that you opened");
  });

  test("escapes the given path", async () => {
    const next = `/"><script>alert(1)</script>`;
    const { body } = await page(`/login?next=${encodeURIComponent(next)}`);
    expect(body.toString()).not.toContain("<script>");
  });
});

test("every page forbids inline scripts, framing, caching and external content", async () => {
  const { headers } = await openPerson(plane);
  const used = await newLink(plane, "ada@example.com");
  await page(used);
  for (const path of [
    "/login",
    "/",
    `/cli/login?device_code=${randomUUID()}`,
    "/cli/login",
    used,
  ]) {
    const answer = await page(path, headers);
    expect([path, answer.headers]).toMatchObject([
      path,
      {
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        // With no-referrer a browser would send the console's own forms with "Origin: null".
        "referrer-policy": "same-origin",
      },
    ]);
    expect(answer.text).not.toMatch(
      /<script(?! type="module" src="\/assets\/[\w-]+\/\w+\.js">)|style=|\son\w+=/,
    );
  }
});
