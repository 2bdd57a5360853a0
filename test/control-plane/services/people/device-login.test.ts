import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { ask } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";
import { approve, bearer, openBrowser, signIn, type Browser } from "../../../helpers/sign-in.ts";

const { plane } = planeForFile({ WINDLASS_TRUSTED_PROXIES: "127.0.0.1" });
let browser: Browser;
beforeAll(async () => {
  // The proxy's header gives each test an address of its own: refusals are counted by address.
  browser = await openBrowser(plane);
});

let addresses = 0;
const newAddress = () => `203.0.113.${(addresses += 1)}`;
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  ask(plane, "POST", path, {
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const exchange = (device_code: string, verification_code: unknown, address = newAddress()) =>
  post(
    "/api/auth/cli/exchange",
    { device_code, verification_code },
    { "x-forwarded-for": address },
  );
const generate = (device_code: unknown, { headers } = browser) =>
  post("/api/auth/cli/generate", { device_code }, headers);
const send = (body: string, type = "application/json") =>
  ask(plane, "POST", "/api/auth/cli/exchange", { headers: { "content-type": type }, body });
/** A code that is not this one. */
const wrongFor = (code: string) => (code === "AAAAAA" ? "BBBBBB" : "AAAAAA");
const refused = (code: string, status = 400) => ({ status, code });
const setLogin = (device_code: string, change: { expires_at: number }) =>
  plane.context.store.write((tx) =>
    tx.sql.updateTable("cli_logins").set(change).where("device_code", "=", device_code).execute(),
  );

describe("approving", () => {
  test("gives six characters that cannot be confused, for ten minutes", async () => {
    const device_code = randomUUID();
    const answer = await generate(device_code);
    expect(answer.status).toBe(201);
    const login = answer.json() as Awaited<ReturnType<typeof approve>>;
    expect(login).toEqual({
      device_code,
      verification_code: expect.stringMatching(/^[A-HJ-NP-Z2-9]{6}$/),
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
    });
    const left = Date.parse(login.expires_at) - Date.now();
    expect(left).toBeGreaterThan(9 * 60_000);
    expect(left).toBeLessThanOrEqual(10 * 60_000);
  });

  test("again gives the same person the same code and the same end, also at once", async () => {
    const code = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => approve(plane, browser, code)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await approve(plane, browser, code.toUpperCase())).toMatchObject({
      verification_code: answers[0]!.verification_code,
    });
  });

  test("is refused to another person", async () => {
    const { device_code } = await approve(plane, browser);
    const other = await openBrowser(plane);
    expect((await generate(device_code, other)).json()).toMatchObject(
      refused("device_code_taken", 409),
    );
  });

  test("of a used, burned or expired device code is refused for every user", async () => {
    const used = await approve(plane, browser);
    await exchange(used.device_code, used.verification_code);
    const burned = await approve(plane, browser);
    for (let i = 0; i < 5; i += 1)
      await exchange(burned.device_code, wrongFor(burned.verification_code));
    const expired = await approve(plane, browser);
    await setLogin(expired.device_code, { expires_at: Date.now() });
    const other = await openBrowser(plane);
    for (const { device_code } of [used, burned, expired])
      for (const who of [browser, other])
        expect((await generate(device_code, who)).json()).toMatchObject(
          refused("device_code_used", 409),
        );
  });

  test("needs a device code that is one", async () => {
    for (const device_code of [
      "",
      "1",
      5,
      null,
      undefined,
      `urn:uuid:${randomUUID()}`,
      "é".repeat(36),
    ])
      expect((await generate(device_code)).json()).toMatchObject(refused("invalid_request"));
    const more = await post(
      "/api/auth/cli/generate",
      { device_code: randomUUID(), user_id: randomUUID() },
      browser.headers,
    );
    expect(more.json()).toMatchObject(refused("invalid_request"));
  });

  test("needs a session", async () => {
    const answer = await post("/api/auth/cli/generate", { device_code: randomUUID() });
    expect(answer.json()).toMatchObject(refused("unauthenticated", 401));
  });

  test("uses all 32 characters in every place, about equally often", async () => {
    const codes = await Promise.all(Array.from({ length: 640 }, () => approve(plane, browser)));
    for (let place = 0; place < 6; place += 1) {
      const counts = new Map<string, number>();
      for (const { verification_code } of codes) {
        const character = verification_code[place]!;
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
      expect(counts.size).toBe(32);
      // Expected 20 each; 55 has odds of less than one in a thousand million.
      expect(Math.max(...counts.values())).toBeLessThan(55);
    }
  });
});

describe("the exchange", () => {
  test("gives the tokens of the person who approved, whatever the case of the codes", async () => {
    const { device_code, verification_code } = await approve(plane, browser);
    const answer = await exchange(device_code.toUpperCase(), verification_code.toLowerCase());
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      provider_token: null,
      user_email: browser.email,
      token_type: "Bearer",
      expires_in: 3600,
    });
    const zones = await ask(plane, "GET", "/api/cli/zones", {
      headers: bearer(String(answer.json()["access_token"])),
    });
    expect(zones.status).toBe(200);
  });

  test("says of an unknown device code what it says of one that is not approved yet", async () => {
    const answer = await exchange(randomUUID(), "AAAAAA");
    expect(answer.json()).toMatchObject(refused("authorization_pending"));
  });

  test("works once, also when it is asked twenty times at once", async () => {
    const { device_code, verification_code } = await approve(plane, browser);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => exchange(device_code, verification_code)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const others = answers
      .filter(({ status }) => status !== 200)
      .map((answer) => answer.json().code);
    // Ten refusals of a device code are all that are judged in a minute.
    expect(new Set(others)).toEqual(new Set(["expired_token", "too_many_requests"]));
    expect((await exchange(device_code, verification_code)).status).toBe(429);
  });

  test("judges any string of 1 to 16 characters, and what is not the code is a wrong code", async () => {
    const { device_code, verification_code } = await approve(plane, browser);
    for (const guess of [
      " ",
      verification_code.slice(0, 5),
      `${verification_code}X`,
      "ſ'--\0é".padEnd(16),
    ])
      expect((await exchange(device_code, guess)).json()).toMatchObject(
        refused("invalid_verification_code"),
      );
    for (const guess of ["", "A".repeat(17), 5, null, undefined, ["A"]])
      expect((await exchange(device_code, guess)).json()).toMatchObject(refused("invalid_request"));
    expect((await exchange(device_code, verification_code)).status).toBe(200);
  });

  test("burns the code with the fifth wrong guess: then even the right one is refused", async () => {
    const { device_code, verification_code } = await approve(plane, browser);
    const wrong = wrongFor(verification_code);
    for (let i = 0; i < 5; i += 1)
      expect((await exchange(device_code, wrong)).json()).toMatchObject(
        refused("invalid_verification_code"),
      );
    expect((await exchange(device_code, wrong)).json()).toMatchObject(refused("expired_token"));
    expect((await exchange(device_code, verification_code)).json()).toMatchObject(
      refused("expired_token"),
    );
  });

  test("never judges more than five guesses of a code, however many come at once", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { device_code, verification_code } = await approve(plane, browser);
      const wrong = wrongFor(verification_code);
      const guesses = [...Array.from({ length: 60 }, () => wrong), verification_code];
      const answers = await Promise.all(guesses.map((guess) => exchange(device_code, guess)));
      const codes = answers.map((answer) => answer.json().code);
      expect(codes.filter((code) => code === "invalid_verification_code")).toHaveLength(5);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(0);
      const login = await plane.context.store.read.sql
        .selectFrom("cli_logins")
        .select("wrong_guesses")
        .where("device_code", "=", device_code)
        .executeTakeFirstOrThrow();
      expect(login.wrong_guesses).toBe(5);
    }
  });

  test("refuses a code whose ten minutes are over", async () => {
    const { device_code, verification_code } = await approve(plane, browser);
    await setLogin(device_code, { expires_at: Date.now() });
    expect((await exchange(device_code, verification_code)).json()).toMatchObject(
      refused("expired_token"),
    );
  });

  test("refuses the code of another device", async () => {
    const [mine, other] = [await approve(plane, browser), await approve(plane, browser)];
    expect((await exchange(mine.device_code, other.verification_code)).json()).toMatchObject(
      refused("invalid_verification_code"),
    );
    expect((await exchange(other.device_code, other.verification_code)).status).toBe(200);
  });

  test("refuses what is not JSON, not an object or not said to be JSON", async () => {
    expect((await send("{")).json()).toMatchObject(refused("malformed_json"));
    expect((await send("")).json()).toMatchObject(refused("malformed_json"));
    expect((await send("[]")).json()).toMatchObject(refused("invalid_request"));
    expect((await send("a=b", "text/plain")).json()).toMatchObject(
      refused("unsupported_media_type", 415),
    );
    expect((await send(" ".repeat(2_000_000))).json()).toMatchObject(
      refused("payload_too_large", 413),
    );
  });
});

describe("the rate limit", () => {
  test("stops an address after 60 refusals in a minute, says when to come back, and no other address", async () => {
    const address = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => exchange(randomUUID(), "AAAAAA", address)),
    );
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(60);
    const stopped = answers.filter(({ status }) => status === 429);
    expect(stopped).toHaveLength(40);
    expect(stopped[0]?.json()).toMatchObject(refused("too_many_requests", 429));
    const wait = Number(stopped[0]?.headers["retry-after"]);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect((await exchange(randomUUID(), "AAAAAA")).status).toBe(400);
  });

  test("stops a device code after ten refusals, from wherever and however it is written", async () => {
    const code = randomUUID();
    const spelling = (i: number) => (i % 2 === 0 ? code : code.toUpperCase());
    const answers = [];
    for (let i = 0; i < 12; i += 1) answers.push(await exchange(spelling(i), "AAAAAA"));
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(400), 429, 429]);
  });

  test("counts refusals only: the right code is always accepted", async () => {
    const address = newAddress();
    const logins = await Promise.all(Array.from({ length: 80 }, () => approve(plane, browser)));
    const answers = await Promise.all(
      logins.map((login) => exchange(login.device_code, login.verification_code, address)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(80);
  });

  test("takes a home's IPv6 addresses for one", async () => {
    const answers = [];
    for (let i = 0; i < 61; i += 1)
      answers.push(await exchange(randomUUID(), "AAAAAA", `2001:db8:0:1::${i.toString(16)}`));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
    expect((await exchange(randomUUID(), "AAAAAA", "2001:db8:0:2::1")).status).toBe(400);
  });
});

test("codes and tokens are nowhere on the disk once they are used", async () => {
  const { access_token, refresh_token } = await signIn(plane, browser);
  for (const secret of [access_token, refresh_token, access_token.split(".")[2]!])
    expect(await plane.holds(secret)).toEqual([]);
});
