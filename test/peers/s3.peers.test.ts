/** What moto cannot show: it checks no credentials, and loses everything when it ends. */
import { buffer } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { s3Blobs } from "../../control-plane/blobs/s3.ts";
import { inPieces } from "../helpers/machine/pieces.ts";
import { skipAt } from "../helpers/project/tools.ts";
import { lackOfS3, s3Credentials, startS3, type S3Server } from "../helpers/store/s3-server.ts";

skipAt(lackOfS3);

let s3: S3Server;
beforeAll(async () => {
  if (lackOfS3 === undefined) s3 = await startS3("blobs");
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => s3?.[Symbol.asyncDispose]());

const open = (settings: Readonly<Record<string, string>> = {}) => {
  const given = { AWS_ENDPOINT_URL_S3: s3.url, AWS_REGION: "us-east-1", ...s3Credentials };
  for (const [name, value] of Object.entries({ ...given, ...settings })) vi.stubEnv(name, value);
  const plain = { encryption: undefined, kmsKey: undefined };
  return s3Blobs({ bucket: "blobs", prefix: "windlass", isPathStyle: true, ...plain });
};

test.for([
  ["AWS_ACCESS_KEY_ID", "the access key does not exist"],
  ["AWS_SECRET_ACCESS_KEY", "the secret access key is wrong"],
] as const)("a wrong %s ends the start with what to do", async ([name, why]) => {
  await expect(open({ [name]: "wrong" })).rejects.toThrow(why);
});

test("a store that is killed and started again is used again", async () => {
  const blobs = await open();
  const content = Buffer.alloc(13_000_000, "blob");
  const write = () => blobs.write(inPieces(content), content.length);
  const { blob } = await write();
  await s3.kill();
  const away = { code: "storage_unavailable" };
  await expect(write()).rejects.toMatchObject(away);
  await expect(blobs.read(blob)).rejects.toMatchObject(away);
  await s3.restart();
  expect((await buffer(await blobs.read(blob))).equals(content)).toBe(true);
  await write();
});
