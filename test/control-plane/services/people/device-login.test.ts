import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { ask, readRow, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  approve,
  bearer,
  openPerson,
  type Person,
  signIn,
} from "../../../helpers/people/sign-in.ts";

const { plane } = planeForFile({ WINDLASS_TRUSTED_PROXIES: "127.0.0.1" });
let browser: Person;
beforeAll(async () => {
  // The proxy's header gives each test its own address: refusals are counted by address.
  browser = await openPerson(plane);
});

let addresses = 0;
const newAddress = () => `203.0.113.${(addresses += 1)}`;
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  ask(plane, "POST", path, { headers, json: body });
const exchange = (device_code: string, verification_code: unknown, address = newAddress()) =>
  post(
    "/api/auth/cli/exchange",
    { device_code, verification_code },
    { "x-forwarded-for": address },
  );
const generate = (device_code: unknown, { headers } = browser) =>
  post("/api/auth/cli/generate", { device_code }, headers);
/** A code that differs from this one. */
const wrongFor = (code: string) => (code === "AAAAAA" ? "BBBBBB" : "AAAAAA");
const refused = (code: string, status = 400) => ({ status, code });
const expire = (device_code: string) =>
  setRows(plane, "cli_logins", { expires_at: Date.now() }, { device_code });

describe("approving a device code", () => {
  test("returns six unambiguous characters that are valid for ten minutes", async () => {
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

  test("again returns the same user the same code and expiry, also concurrently", async () => {
    const code = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => approve(plane, browser, code)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await approve(plane, browser, code.toUpperCase())).toMatchObject({
      verification_code: answers[0]!.verification_code,
    });
  });

  test("is refused to another user", async () => {
    const { device_code } = await approve(plane, browser);
    const other = await openPerson(plane);
    expect((await generate(device_code, other)).json()).toMatchObject(
      refused("device_code_taken", 409),
    );
  });

  test("is refused to every user for a used, burned or expired device code", async () => {
    const used = await approve(plane, browser);
    await exchange(used.device_code, used.verification_code);
    const burned = await approve(plane, browser);
    for (let i = 0; i < 5; i += 1)
      await exchange(burned.device_code, wrongFor(burned.verification_code));
    const expired = await approve(plane, browser);
    await expire(expired.device_code);
    const other = await openPerson(plane);
    for (const { device_code } of [used, burned, expired])
      for (const who of [browser, other])
        expect((await generate(device_code, who)).json()).toMatchObject(
          refused("device_code_used", 409),
        );
  });

  test("is refused for a malformed device code", async () => {
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

  test("is refused without a session", async () => {
    const answer = await post("/api/auth/cli/generate", { device_code: randomUUID() });
    expect(answer.json()).toMatchObject(refused("unauthenticated", 401));
  });

  test("uses all 32 characters in every place about equally often", async () => {
    const codes = await Promise.all(Array.from({ length: 160 }, () => approve(plane, browser)));
    const used = new Set(codes.flatMap(({ verification_code }) => verification_code.split("")));
    expect(used.size).toBe(32);
    for (let place = 0; place < 6; place += 1) {
      const counts = new Map<string, number>();
      for (const { verification_code } of codes) {
        const character = verification_code[place]!;
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
      expect(counts.size).toBeGreaterThan(24);
      // Expected 5 each; the odds of 27 are less than one in 10^9.
      expect(Math.max(...counts.values())).toBeLessThan(27);
    }
  });
});

describe("exchanging the codes", () => {
  test("returns the tokens of the approving user, whatever the case of the codes", async () => {
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

  test("returns authorization_pending for an unknown device code, as for one that is not approved yet", async () => {
    const answer = await exchange(randomUUID(), "AAAAAA");
    expect(answer.json()).toMatchObject(refused("authorization_pending"));
  });

  test("succeeds once, also when tried twenty times concurrently", async () => {
    const { device_code, verification_code } = await approve(plane, browser);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => exchange(device_code, verification_code)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const others = answers
      .filter(({ status }) => status !== 200)
      .map((answer) => answer.json().code);
    // Only ten refusals of a device code are checked in a minute.
    expect(new Set(others)).toEqual(new Set(["expired_token", "too_many_requests"]));
    expect((await exchange(device_code, verification_code)).status).toBe(429);
  });

  test("treats any other string of 1 to 16 characters as a wrong code, and anything else as invalid", async () => {
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

  test("burns the code after five wrong guesses, so that even the right code is refused", async () => {
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

  test("checks at most five guesses of a code, however many arrive concurrently", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { device_code, verification_code } = await approve(plane, browser);
      const wrong = wrongFor(verification_code);
      const guesses = [...Array.from({ length: 60 }, () => wrong), verification_code];
      const answers = await Promise.all(guesses.map((guess) => exchange(device_code, guess)));
      const codes = answers.map((answer) => answer.json().code);
      expect(codes.filter((code) => code === "invalid_verification_code")).toHaveLength(5);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(0);
      expect((await readRow(plane, "cli_logins", { device_code })).wrong_guesses).toBe(5);
    }
  });

  test("is refused after the code's ten minutes", async () => {
    const { device_code, verification_code } = await approve(plane, browser);
    await expire(device_code);
    expect((await exchange(device_code, verification_code)).json()).toMatchObject(
      refused("expired_token"),
    );
  });

  test("is refused for the code of another device", async () => {
    const [mine, other] = [await approve(plane, browser), await approve(plane, browser)];
    expect((await exchange(mine.device_code, other.verification_code)).json()).toMatchObject(
      refused("invalid_verification_code"),
    );
    expect((await exchange(other.device_code, other.verification_code)).status).toBe(200);
  });
});

describe("the rate limit", () => {
  test("stops one address after 60 refusals in a minute, with Retry-After", async () => {
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

  test("stops a device code after ten refusals, from any address and in any spelling", async () => {
    const code = randomUUID();
    const spelling = (i: number) => (i % 2 === 0 ? code : code.toUpperCase());
    const answers = [];
    for (let i = 0; i < 12; i += 1) answers.push(await exchange(spelling(i), "AAAAAA"));
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(400), 429, 429]);
  });

  test("counts only refusals, so that 80 right codes from one address are accepted", async () => {
    const address = newAddress();
    const logins = await Promise.all(Array.from({ length: 80 }, () => approve(plane, browser)));
    const answers = await Promise.all(
      logins.map((login) => exchange(login.device_code, login.verification_code, address)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(80);
  });

  test("counts the IPv6 addresses of one /64 network as one", async () => {
    const answers = [];
    for (let i = 0; i < 61; i += 1)
      answers.push(await exchange(randomUUID(), "AAAAAA", `2001:db8:0:1::${i.toString(16)}`));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
    expect((await exchange(randomUUID(), "AAAAAA", "2001:db8:0:2::1")).status).toBe(400);
  });
});

test("codes and tokens are not stored in clear", async () => {
  const { access_token, refresh_token } = await signIn(plane, browser);
  for (const secret of [access_token, refresh_token, access_token.split(".")[2]!])
    expect(await plane.holds(secret)).toEqual([]);
});
