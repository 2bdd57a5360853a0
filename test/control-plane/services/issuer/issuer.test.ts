import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeProtectedHeader } from "jose";
import { afterAll, describe, expect, test } from "vitest";
import { secretBox } from "../../../../control-plane/domain/secret-box.ts";
import { watchIssuer } from "../../../../control-plane/services/issuer/issuer.ts";
import {
  currentKey,
  listPublishedKeys,
  resealIssuerKeys,
  rotateIssuerKey,
} from "../../../../control-plane/services/issuer/keys.ts";
import {
  claimNew,
  configureWith,
  tokenFor,
  verify,
} from "../../../helpers/plane/identity-tokens.ts";
import { ask } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { readRows } from "../../../helpers/plane/plane.ts";

const hour = 3_600_000;
/** What stands at the issuer's address, as a bucket would have it. */
let published = "";
const bucket = createServer((request, response) => {
  response.statusCode = published === "" ? 404 : 200;
  response.end(request.url === "/issuer/.well-known/jwks.json" ? published : "");
});
await new Promise<void>((resolve) => bucket.listen(0, "127.0.0.1", resolve));
afterAll(() => void bucket.close());
const issuer = `http://127.0.0.1:${(bucket.address() as AddressInfo).port}/issuer`;

const { plane, it } = planeForFile({ WINDLASS_ISSUER_URL: `${issuer}/` });
const never = new AbortController().signal;

const keysOf = async () =>
  (await ask(plane, "GET", "/.well-known/jwks.json")).json() as { keys?: Record<string, string>[] };
const kids = async () => ((await keysOf()).keys ?? []).map(({ kid }) => kid);

describe("the issuer", () => {
  it("publishes its address and public keys to everyone, for five minutes", async () => {
    const found = await ask(plane, "GET", "/.well-known/openid-configuration");
    expect(found.headers["cache-control"]).toBe("public, max-age=300");
    expect(found.json()).toMatchObject({
      issuer,
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      id_token_signing_alg_values_supported: ["RS256"],
    });
    const none = await ask(plane, "GET", "/.well-known/jwks.json");
    expect(none.headers["cache-control"]).toBe("public, max-age=300");
    expect(none.json()).toEqual({ keys: [] });
    // All at once: the first key is made once.
    const made = await Promise.all(Array.from({ length: 5 }, () => currentKey(plane.context)));
    expect(new Set(made.map(({ kid }) => kid)).size).toBe(1);
    const { keys = [] } = await keysOf();
    expect(keys).toEqual([
      {
        kty: "RSA",
        n: expect.any(String),
        e: "AQAB",
        alg: "RS256",
        use: "sig",
        kid: expect.any(String),
      },
    ]);
    expect(Buffer.from(keys[0]?.["n"] ?? "", "base64url")).toHaveLength(256);
  });

  it("signs with a new key an hour after it was read at its address, and drops the old one a day later", async ({
    owner,
    client,
    runner,
  }) => {
    const { configuration } = await configureWith(client, runner, owner.zone);
    const claimed = await claimNew(client, runner, {
      job_type: "PLAN",
      configuration_id: configuration,
    });
    const { context } = plane;
    const [old] = await kids();
    const rotated = await rotateIssuerKey(context);
    expect(rotated).toMatchObject({ isFirst: false, isPending: false, isRead: false });
    const { kid: next } = rotated;
    expect(await kids()).toEqual([old, next]);
    expect(await rotateIssuerKey(context)).toMatchObject({
      kid: next,
      isPending: true,
      isRead: false,
    });
    // A 404, and then the old files.
    published = "";
    await expect(watchIssuer(context, never)).rejects.toThrow("responded 404");
    published = JSON.stringify({ keys: [{ kid: old }] });
    await watchIssuer(context, never);
    const later = (milliseconds: number) => {
      const at = context.now() + milliseconds;
      return { ...context, now: () => at };
    };
    expect((await currentKey(later(1000 * hour))).kid).toBe(old);
    published = (await ask(plane, "GET", "/.well-known/jwks.json")).text;
    await watchIssuer(context, never);
    expect(await rotateIssuerKey(context)).toMatchObject({
      kid: next,
      isPending: true,
      isRead: true,
    });
    expect((await currentKey(later(hour - 60_000))).kid).toBe(old);
    expect((await currentKey(later(hour))).kid).toBe(next);
    const { token } = await tokenFor(runner, claimed, "plan");
    expect(decodeProtectedHeader(token).kid).toBe(old);
    await verify(plane, token);
    const publishedAfter = async (milliseconds: number) =>
      (await listPublishedKeys(later(milliseconds))).map(({ kid }) => kid);
    expect(await publishedAfter(25 * hour - 60_000)).toEqual([old, next]);
    expect(await publishedAfter(25 * hour)).toEqual([next]);
    await watchIssuer(later(25 * hour), never);
    expect(await kids()).toEqual([next]);
    const signed = (await tokenFor(runner, claimed, "plan")).token;
    expect(decodeProtectedHeader(signed).kid).toBe(next);
    await verify(plane, signed);
  });

  it("keeps its private keys sealed, and seals them again when the secret key changes", async () => {
    await keysOf();
    expect(await plane.holds("PRIVATE KEY")).toEqual([]);
    const { store, box } = plane.context;
    const isKey = ({ name }: { name: string }) => name.startsWith("issuer_key:");
    const before = (await readRows(plane, "facts")).filter(isKey);
    const { kid } = await currentKey(plane.context);
    // `sealAgain` knows keys, not boxes, so the new one seals what the old one opens.
    const secret = randomBytes(32).toString("base64");
    const opened = before.map(({ name, value }) =>
      box("issuer").open(
        Buffer.from((JSON.parse(value) as { sealed: string }).sealed, "base64"),
        name,
      ),
    );
    const other = secretBox([secret], "issuer");
    await store.write(async (tx) => {
      for (const [index, { name, value }] of before.entries()) {
        const sealed = other.seal(opened[index]!, name).toString("base64");
        const changed = JSON.stringify({ ...(JSON.parse(value) as object), sealed });
        await tx.sql
          .updateTable("facts")
          .set({ value: changed })
          .where("name", "=", name)
          .execute();
      }
    });
    await expect(currentKey(plane.context)).rejects.toMatchObject({ code: "unreadable" });
    const newest = randomBytes(32).toString("base64");
    expect(await store.write((tx) => resealIssuerKeys(tx, [newest, secret]))).toBe(before.length);
    const moved = { ...plane.context, box: (purpose: string) => secretBox([newest], purpose) };
    expect((await currentKey(moved)).kid).toBe(kid);
    await store.write(async (tx) => {
      for (const { name, value } of before)
        await tx.sql.updateTable("facts").set({ value }).where("name", "=", name).execute();
    });
  });
});

test("the address of the issuer may have a path, and no query", async () => {
  const { readConfig } = await import("../../../../control-plane/config.ts");
  const read = (url: string) => readConfig({ WINDLASS_ISSUER_URL: url }).issuerUrl;
  expect(read("https://bucket.example.com/windlass/")).toBe("https://bucket.example.com/windlass");
  for (const wrong of ["ftp://x", "https://a.example/?x=1", "https://u:p@a.example"])
    expect(() => read(wrong)).toThrow(/WINDLASS_ISSUER_URL/);
});
