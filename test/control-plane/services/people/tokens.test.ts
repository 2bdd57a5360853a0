import { createHmac, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { signToken, type TokenType } from "../../../../control-plane/services/people/jwt.ts";
import type { TokenPair } from "../../../../protocol/auth.ts";
import type { Row } from "../../../../control-plane/store/tables.ts";
import { ask, readRow, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { bearer, openPerson, signIn } from "../../../helpers/people/sign-in.ts";

const proving = process.env["WINDLASS_PROVE"] === "1";

const { plane } = planeForFile();

const zones = (headers: Record<string, string>) => ask(plane, "GET", "/api/cli/zones", { headers });
const refresh = (refresh_token: unknown) =>
  ask(plane, "POST", "/api/auth/cli/refresh", { json: { refresh_token } });
const refused = { status: 401, code: "invalid_refresh_token" };
/** A refresh that must succeed. */
async function refreshed({ refresh_token }: Pick<TokenPair, "refresh_token">): Promise<TokenPair> {
  const answer = await refresh(refresh_token);
  expect(answer.status).toBe(200);
  return answer.json() as unknown as TokenPair;
}
/** Whether an access token is accepted. */
const letsIn = async ({ access_token }: Pick<TokenPair, "access_token">) =>
  (await zones(bearer(access_token))).status === 200;

interface Claims {
  readonly sub: string;
  readonly email: string;
  readonly sid: string;
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
}
const partsOf = (token: string) => token.split(".") as [string, string, string];
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(partsOf(token)[1], "base64url").toString()) as Claims;
/** Signs changed claims of a real token with the server's key. */
function forge(token: string, header: object, change: object = {}, hash = "sha256"): string {
  const text = `${encode(header)}.${encode({ ...claimsOf(token), ...change })}`;
  const key = plane.context.jwtSecret;
  return `${text}.${createHmac(hash, key).update(text).digest("base64url")}`;
}
const hs256 = { alg: "HS256", typ: "JWT" };
/** A token of a login as it was signed some time ago. */
const signedBefore = (milliseconds: number, type: TokenType, { access_token }: TokenPair) =>
  signToken(
    { jwtSecret: plane.context.jwtSecret, now: () => Date.now() - milliseconds },
    type,
    claimsOf(access_token),
  );
const setLogin = (pair: TokenPair, change: Partial<Row<"logins">>) =>
  setRows(plane, "logins", change, { id: claimsOf(pair.access_token).sid });

/** Invalid tokens, by what is wrong with them. */
function broken(token: string): [string, string][] {
  const [header, payload, signature] = partsOf(token);
  const hour = 3600;
  const now = Math.floor(Date.now() / 1000);
  return [
    ["an empty text", ""],
    ["a word", "token"],
    ["two parts", `${header}.${payload}`],
    ["four parts", `${token}.${signature}`],
    ["no signature", `${header}.${payload}.`],
    ["alg none", `${encode({ alg: "none" })}.${payload}.`],
    ["alg none in another case", `${encode({ alg: "nOnE" })}.${payload}.${signature}`],
    ["alg none in a signed header", forge(token, { alg: "none" })],
    ["another algorithm", forge(token, { alg: "HS512" }, {}, "sha512")],
    ["an algorithm with a public key", forge(token, { alg: "RS256", typ: "JWT" })],
    ["a key of its own", forge(token, { ...hs256, jwk: { kty: "oct", k: "" } }, {}, "md5")],
    ["a critical extension", forge(token, { ...hs256, crit: ["b64"], b64: false })],
    [
      "other claims under this signature",
      `${header}.${encode({ ...claimsOf(token), sub: randomUUID() })}.${signature}`,
    ],
    ["another issuer", forge(token, hs256, { iss: "https://evil.example" })],
    ["another audience", forge(token, hs256, { aud: "others" })],
    ["no expiry", forge(token, hs256, { exp: undefined })],
    ["an expiry that is not a number", forge(token, hs256, { exp: "2099" })],
    ["an expiry in the past", forge(token, hs256, { iat: now - 2 * hour, exp: now - 1 })],
    ["no type", forge(token, hs256, { type: undefined })],
    ["another type", forge(token, hs256, { type: "ACCESS" })],
    ["no login", forge(token, hs256, { sid: undefined })],
    ["an unknown login", forge(token, hs256, { sid: randomUUID() })],
    ["a login that is not a text", forge(token, hs256, { sid: { $ne: null } })],
    ["base64 padding", `${token}=`],
    ["a space inside", `${header}. ${payload}.${signature}`],
  ];
}

describe("an access token", () => {
  test("carries the user, issuer, audience, login and an expiry of one hour", async () => {
    const browser = await openPerson(plane);
    const { access_token } = await signIn(plane, browser);
    const [header] = partsOf(access_token);
    expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual(hs256);
    const claims = claimsOf(access_token);
    expect(claims).toEqual({
      sub: expect.stringMatching(/^[\da-f-]{36}$/),
      email: browser.email,
      type: "access",
      iss: "windlass",
      aud: "windlass",
      iat: expect.any(Number),
      exp: claims.iat + 3600,
      jti: expect.any(String),
      sid: expect.stringMatching(/^[\da-f-]{36}$/),
    });
    expect(Math.abs(claims.iat * 1000 - Date.now())).toBeLessThan(10_000);
  });

  test("is refused when anything is wrong with it, and the response names the Bearer scheme", async () => {
    const tokens = await signIn(plane);
    expect(await letsIn(tokens)).toBe(true);
    expect(await letsIn({ access_token: forge(tokens.access_token, hs256) })).toBe(true);
    for (const [what, token] of broken(tokens.access_token)) {
      const answer = await zones(bearer(token));
      expect([what, answer.json()]).toMatchObject([what, { status: 401, code: "unauthenticated" }]);
      expect([what, answer.headers["www-authenticate"]]).toEqual([what, "Bearer"]);
    }
    const { access_token } = tokens;
    for (const authorization of [
      "",
      access_token,
      "Bearer",
      `Basic ${access_token}`,
      `Bearer ${access_token} x`,
    ])
      expect([authorization, (await zones({ authorization })).status]).toEqual([
        authorization,
        401,
      ]);
    expect((await zones({})).json()).toMatchObject({ status: 401, code: "unauthenticated" });
  });

  test("is refused with any one character changed", async () => {
    const { access_token } = await signIn(plane);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (let at = 0; at < access_token.length; at += proving ? 1 : 7) await refusesChangeAt(at);
    // A decoder ignores the last two bits of the last character.
    await refusesChangeAt(access_token.length - 1);

    async function refusesChangeAt(at: number) {
      const flipped = alphabet[alphabet.indexOf(access_token[at]!) ^ 1] ?? "A";
      const changed = access_token.slice(0, at) + flipped + access_token.slice(at + 1);
      expect([at, await letsIn({ access_token: changed })]).toEqual([at, false]);
    }
  });

  test("expires after one hour", async () => {
    const pair = await signIn(plane);
    const minute = 60_000;
    expect(await letsIn({ access_token: await signedBefore(59 * minute, "access", pair) })).toBe(
      true,
    );
    expect(await letsIn({ access_token: await signedBefore(60 * minute, "access", pair) })).toBe(
      false,
    );
  });

  test("and the other kinds of tokens are refused in each other's place", async () => {
    const pair = await signIn(plane);
    const session = await signedBefore(0, "session", pair);
    expect(await letsIn({ access_token: pair.refresh_token })).toBe(false);
    expect(await letsIn({ access_token: session })).toBe(false);
    expect((await refresh(pair.access_token)).json()).toMatchObject(refused);
    expect((await refresh(session)).json()).toMatchObject(refused);
    // The type alone is not enough: the login must also be of that kind.
    expect((await zones({ cookie: `windlass_session=${session}` })).status).toBe(401);
    await refreshed(pair);
  });

  test("shows only its own user's data", async () => {
    const [ada, eve] = [await signIn(plane), await signIn(plane)];
    const name = randomUUID();
    await ask(plane, "POST", "/api/cli/zones", {
      headers: bearer(ada.access_token),
      json: { name },
    });
    expect((await zones(bearer(ada.access_token))).text).toContain(name);
    expect((await zones(bearer(eve.access_token))).text).not.toContain(name);
  });
});

describe("a refresh", () => {
  test("returns a new pair of the same login; the old refresh token is refused, the old access token works until it expires", async () => {
    const old = await signIn(plane);
    const pair = await refreshed(old);
    expect(pair).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      token_type: "Bearer",
      expires_in: 3600,
    });
    expect(pair.access_token).not.toBe(old.access_token);
    expect(pair.refresh_token).not.toBe(old.refresh_token);
    expect(claimsOf(pair.access_token).sid).toBe(claimsOf(old.access_token).sid);
    const { iat, exp } = claimsOf(pair.refresh_token);
    expect(exp - iat).toBe(90 * 24 * 3600);
    expect(await letsIn(pair)).toBe(true);
    expect(await letsIn(old)).toBe(true);
    expect((await refresh(old.refresh_token)).json()).toMatchObject(refused);
  });

  test("refuses every invalid refresh token with the same error", async () => {
    const { refresh_token } = await signIn(plane);
    for (const [what, token] of broken(refresh_token))
      expect([what, (await refresh(token)).json()]).toMatchObject([what, refused]);
    await refreshed({ refresh_token });
    for (const body of [5, null, undefined, "x".repeat(4097)])
      expect((await refresh(body)).json()).toMatchObject({ status: 400, code: "invalid_request" });
  });

  test("of one token by fifty concurrent requests succeeds once, and the refused ones do no harm", async () => {
    let pair: TokenPair = await signIn(plane);
    for (let round = 0; round < (proving ? 1000 : 20); round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => refresh(pair.refresh_token)),
      );
      const winners = answers.filter(({ status }) => status === 200);
      expect(winners).toHaveLength(1);
      for (const answer of answers)
        if (answer !== winners[0]) expect(answer.json()).toMatchObject(refused);
      pair = winners[0]!.json() as unknown as TokenPair;
      expect(await letsIn(pair)).toBe(true);
    }
  });

  test("with the previous token is refused for ten seconds, and after that ends the login", async () => {
    const old = await signIn(plane);
    const pair = await refreshed(old);
    await setLogin(pair, { rotated_at: Date.now() - 9_000 });
    expect((await refresh(old.refresh_token)).json()).toMatchObject(refused);
    expect(await letsIn(pair)).toBe(true);
    await setLogin(pair, { rotated_at: Date.now() - 10_500 });
    expect((await refresh(old.refresh_token)).json()).toMatchObject(refused);
    expect(await letsIn(pair)).toBe(false);
    expect((await refresh(pair.refresh_token)).json()).toMatchObject(refused);
  });

  test("with a token older than the previous one ends the login at once", async () => {
    for (let round = 0; round < (proving ? 1000 : 20); round += 1) {
      const first = await signIn(plane);
      const third = await refreshed(await refreshed(first));
      expect((await refresh(first.refresh_token)).json()).toMatchObject(refused);
      expect(await letsIn(third)).toBe(false);
      expect((await refresh(third.refresh_token)).json()).toMatchObject(refused);
    }
  });

  test("with an expired old token still ends the login", async () => {
    const old = await signIn(plane);
    const pair = await refreshed(await refreshed(old));
    const { iat } = claimsOf(old.refresh_token);
    const expired = forge(old.refresh_token, hs256, { exp: iat - 1 });
    expect((await refresh(expired)).json()).toMatchObject(refused);
    expect(await letsIn(pair)).toBe(false);
  });

  test("with the current token after its expiry is refused without ending the login", async () => {
    const pair = await signIn(plane);
    const expired = forge(pair.refresh_token, hs256, { exp: claimsOf(pair.refresh_token).iat - 1 });
    expect((await refresh(expired)).json()).toMatchObject(refused);
    await refreshed(pair);
  });

  test("extends the login to 90 days from the refresh", async () => {
    const old = await signIn(plane);
    await setLogin(old, { expires_at: Date.now() + 60_000 });
    const pair = await refreshed(old);
    const { expires_at } = await readRow(plane, "logins", { id: claimsOf(pair.access_token).sid });
    expect(expires_at - Date.now()).toBeGreaterThan(89 * 24 * 3600_000);
    await setLogin(pair, { expires_at: Date.now() - 1000 });
    expect((await refresh(pair.refresh_token)).json()).toMatchObject(refused);
    expect(await letsIn(pair)).toBe(false);
  });

  test("that ends one login keeps the user's other logins", async () => {
    const browser = await openPerson(plane);
    const [one, other] = [await signIn(plane, browser), await signIn(plane, browser)];
    await refreshed(await refreshed(one));
    await refresh(one.refresh_token);
    expect(await letsIn(one)).toBe(false);
    expect(await letsIn(other)).toBe(true);
    expect((await zones(browser.headers)).status).toBe(200);
  });
});

test("an access token is refused at the next call after its login is revoked", async () => {
  const pair = await signIn(plane);
  expect(await letsIn(pair)).toBe(true);
  await setLogin(pair, { revoked_at: Date.now() });
  expect(await letsIn(pair)).toBe(false);
  expect((await refresh(pair.refresh_token)).json()).toMatchObject(refused);
});
