import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { signToken } from "../../../../control-plane/services/people/jwt.ts";
import { ask, setRows, startPlane } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  agedHeaders,
  approve,
  bearer,
  cookieOf,
  newLink,
  openPerson,
  type Person,
  signIn,
} from "../../../helpers/people/sign-in.ts";

const { plane } = planeForFile();

const generate = (headers: Record<string, string>, device_code = randomUUID()) =>
  ask(plane, "POST", "/api/auth/cli/generate", { headers, json: { device_code } });
const addZone = (headers: Record<string, string>) =>
  ask(plane, "POST", "/api/cli/zones", { headers, json: { name: randomUUID() } });
const zones = (headers: Record<string, string>) => ask(plane, "GET", "/api/cli/zones", { headers });

const moreThanAWeekAgo = () => Date.now() - 7 * 24 * 3600_000 - 1000;
const loginOf = ({ email }: Person) =>
  plane.context.store.read.sql
    .selectFrom("logins")
    .innerJoin("users", "users.id", "logins.user_id")
    .select(["logins.id", "user_id"])
    .where("email", "=", email)
    .executeTakeFirstOrThrow();
const own = (): Record<string, string>[] => [
  { origin: plane.url },
  { "sec-fetch-site": "same-origin" },
  { "sec-fetch-site": "none" },
  { origin: "null", "sec-fetch-site": "same-origin" },
];
const foreign = (): Record<string, string>[] => [
  {},
  { origin: "null" },
  { origin: "https://evil.example" },
  { origin: `${plane.url}.evil.example` },
  { origin: plane.url.replace(/\d+$/, "1") },
  { origin: "no url" },
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
  { origin: "https://evil.example", "sec-fetch-site": "same-origin" },
];

describe("a one-time link", () => {
  test("sets an HttpOnly, SameSite session cookie and redirects to the start page", async () => {
    const opened = await ask(plane, "GET", await newLink(plane, "ada@example.com"));
    expect(opened.status).toBe(303);
    expect(opened.headers["location"]).toBe("/");
    expect(opened.headers["cache-control"]).toBe("no-store");
    expect(opened.headers["set-cookie"]).toMatch(
      /^windlass_session=[\w.-]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/,
    );
  });

  test("works once, and then shows how to get a new link", async () => {
    const link = await newLink(plane, "ada@example.com");
    expect((await ask(plane, "GET", link)).status).toBe(303);
    const again = await ask(plane, "GET", link);
    expect(again.status).toBe(410);
    expect(again.headers["set-cookie"]).toBeUndefined();
    expect(again.headers["content-type"]).toContain("text/html");
    expect(again.text).toContain("windlass server login-link");
  });

  test("signs in exactly one of twenty concurrent requests", async () => {
    const link = await newLink(plane, "ada@example.com");
    const opened = await Promise.all(Array.from({ length: 20 }, () => ask(plane, "GET", link)));
    expect(opened.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(opened.filter(({ status }) => status === 410)).toHaveLength(19);
  });

  test("is not used up by a HEAD request", async () => {
    const link = await newLink(plane, "ada@example.com");
    expect((await ask(plane, "HEAD", link)).status).toBe(405);
    expect((await ask(plane, "GET", link)).status).toBe(303);
  });

  test("ends after 15 minutes, with the same response as an unknown link", async () => {
    const link = await newLink(plane, "late@example.com");
    await plane.context.store.write((tx) =>
      tx.sql
        .updateTable("login_links")
        .set((set) => ({ expires_at: set("expires_at", "-", 15 * 60_000) }))
        .where("email", "=", "late@example.com")
        .execute(),
    );
    expect((await ask(plane, "GET", link)).status).toBe(410);
    expect((await ask(plane, "GET", "/login/link/wll_never")).status).toBe(410);
  });

  test("is stored only as a hash", async () => {
    const link = await newLink(plane, "ada@example.com");
    expect(await plane.holds(link.slice("/login/link/".length))).toEqual([]);
  });

  test("signs the same e-mail into the same account, and others into their own", async () => {
    const [first, second] = [
      await openPerson(plane, "eve@example.com"),
      await openPerson(plane, "eve@example.com"),
    ];
    const zone = (await addZone(first.headers)).json();
    expect((await zones(second.headers)).json()).toMatchObject({ zones: [{ id: zone["id"] }] });
    expect((await zones((await openPerson(plane)).headers)).json()).toEqual({
      zones: [],
      next_cursor: null,
    });
  });
});

describe("a session", () => {
  test("is renewed for a week by every request with a cookie older than a minute", async () => {
    const browser = await openPerson(plane);
    for (const path of ["/", "/api/cli/zones"]) {
      const unchanged = await browser.page(path);
      expect(unchanged.headers["set-cookie"]).toBeUndefined();
      const headers = await agedHeaders(plane, browser.headers, 61_000);
      const answer = await ask(plane, "GET", path, { headers });
      expect(answer.headers["set-cookie"]).toContain("Max-Age=604800");
      const cookie = cookieOf(answer)!;
      expect((await zones({ cookie })).status).toBe(200);
    }
  });

  test("is not accepted as a bearer token, and a bearer token not as a session", async () => {
    const { headers } = await openPerson(plane);
    const token = headers.cookie.split("=")[1]!;
    expect((await zones(bearer(token))).status).toBe(401);
    const { access_token, refresh_token } = await signIn(plane);
    for (const cookie of [access_token, refresh_token].map(
      (token) => `windlass_session=${token}`,
    )) {
      expect((await zones({ cookie })).status).toBe(401);
      expect((await generate({ cookie, origin: plane.url })).status).toBe(401);
    }
    expect((await generate(bearer(access_token))).json()).toMatchObject({
      status: 401,
      code: "unauthenticated",
    });
  });

  test("ends at once in every copy of the cookie when the user signs out", async () => {
    const { headers } = await openPerson(plane);
    const out = await ask(plane, "POST", "/logout", { headers });
    expect(out.status).toBe(303);
    expect(out.headers["set-cookie"]).toMatch(/^windlass_session=; Max-Age=0; /);
    expect((await zones(headers)).status).toBe(401);
    expect((await ask(plane, "GET", "/", { headers })).headers["location"]).toBe("/login?next=%2F");
  });

  test("ends with its own lifetime or the login's", async () => {
    const browser = await openPerson(plane);
    const login = await loginOf(browser);
    const claims = { sub: login.user_id, email: browser.email, sid: login.id, jti: login.id };
    const { jwtSecret } = plane.context;
    const old = await signToken({ jwtSecret, now: moreThanAWeekAgo }, "session", claims);
    expect((await zones({ cookie: `windlass_session=${old}` })).status).toBe(401);
    await setRows(plane, "logins", { expires_at: Date.now() }, { id: login.id });
    expect((await zones(browser.headers)).status).toBe(401);
  });
});

describe("a changing request with a session", () => {
  test("is accepted from the console's own pages", async () => {
    const { headers } = await openPerson(plane);
    for (const from of own()) {
      expect([from, (await generate({ cookie: headers.cookie, ...from })).status]).toEqual([
        from,
        201,
      ]);
      expect([from, (await addZone({ cookie: headers.cookie, ...from })).status]).toEqual([
        from,
        201,
      ]);
    }
  });

  test("is refused from any other origin, and changes nothing", async () => {
    const { headers } = await openPerson(plane);
    for (const from of foreign()) {
      for (const refused of [
        await generate({ cookie: headers.cookie, ...from }),
        await addZone({ cookie: headers.cookie, ...from }),
      ])
        expect([from, refused.json()]).toMatchObject([
          from,
          { status: 403, code: "foreign_origin" },
        ]);
      expect(
        (await ask(plane, "POST", "/logout", { headers: { cookie: headers.cookie, ...from } }))
          .status,
      ).toBe(403);
    }
    expect((await zones(headers)).json()).toMatchObject({ zones: [] });
  });

  test("needs no origin if it carries a bearer token", async () => {
    const { access_token } = await signIn(plane);
    const answer = await addZone({ ...bearer(access_token), origin: "https://evil.example" });
    expect(answer.status).toBe(201);
  });
});

test("without https no Strict-Transport-Security header is sent", async () => {
  const { headers } = await ask(plane, "GET", "/login");
  expect(headers["strict-transport-security"]).toBeUndefined();
});

describe("under https", () => {
  test("the cookie is for this host and encrypted connections only, and other origins are refused", async () => {
    const secure = await startPlane({ WINDLASS_PUBLIC_URL: "https://windlass.example" });
    try {
      const opened = await ask(secure, "GET", await newLink(secure, "ada@example.com"));
      expect(opened.headers["set-cookie"]).toMatch(
        /^__Host-windlass_session=[\w.-]+; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      );
      const cookie = cookieOf(opened)!;
      const from = (origin: string) =>
        approve(secure, { headers: { cookie, origin } }).then(
          () => 201,
          (error: { status: number }) => error.status,
        );
      expect(await from("https://windlass.example")).toBe(201);
      expect(await from("http://windlass.example")).toBe(403);
      expect(await from(secure.url)).toBe(403);
      // Every response tells the browser to use only encrypted connections.
      for (const path of [
        "/login",
        "/assets/1/windlass.css",
        "/api/cli/zones",
        "/nothing",
        "/docs",
      ])
        expect([
          path,
          (await ask(secure, "GET", path)).headers["strict-transport-security"],
        ]).toEqual([path, "max-age=31536000"]);
    } finally {
      await secure.close();
    }
  });
});
