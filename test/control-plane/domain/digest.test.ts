import { hash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { checked, contentDigests, contentMd5 } from "../../../control-plane/domain/digest.ts";

const content = "the plan";
const sha256 = hash("sha256", content, "base64");
const sha512 = hash("sha512", content, "base64");
async function* body() {
  yield Buffer.from("the ");
  yield Buffer.from("plan");
}
const pass = (header: string) => buffer(checked(body(), contentDigests(header)));

test.for([
  `sha-256=:${sha256}:`,
  `sha-512=:${sha512}:`,
  ` sha-256=:${sha256}: , sha-512=:${sha512}: `,
  `sha-256=:${sha256}:;note=1`,
  "md5=:AAAA:, unixsum=:AAAA:",
  "",
])("content passes the header %j", async (header) => {
  expect((await pass(header)).toString()).toBe(content);
});

test.for([
  `sha-256=:${hash("sha256", "another plan", "base64")}:`,
  `sha-512=:${hash("sha512", "another plan", "base64")}:`,
  `sha-256=:${sha256}:, sha-512=:${hash("sha512", "another plan", "base64")}:`,
])("content that does not match %j is refused at its end", async (header) => {
  await expect(pass(header)).rejects.toMatchObject({ code: "digest_mismatch" });
});

test.for([
  `sha-256=${sha256}`,
  `sha-256=:${hash("sha256", content, "hex")}:`,
  "sha-256=:AAAA:",
  "sha-256=:AB=C:",
  `sha-256=:${sha256}:,`,
  "nonsense",
])("%j is refused as Content-Digest", (header) => {
  expect(() => contentDigests(header)).toThrow("content-digest must");
});

test("Content-MD5 is checked in the same way", async () => {
  const md5 = hash("md5", content, "base64");
  expect((await buffer(checked(body(), contentMd5(md5)))).toString()).toBe(content);
  const other = contentMd5(hash("md5", "another plan", "base64"));
  await expect(buffer(checked(body(), other))).rejects.toMatchObject({ code: "digest_mismatch" });
  expect(() => contentMd5("not md5")).toThrow("content-md5 must");
});
