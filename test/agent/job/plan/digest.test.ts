import { createHash, createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { readPlan } from "../../../../agent/job/plan/json.ts";
import { secrecyOf } from "../../../../common/redaction/secrecy.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const root = folderForFile();
const key = Buffer.alloc(32, 7);

/** Reads a plan with this JSON text of its parts. */
async function read(parts: string, workspace = "/srv/1", folder = "envs/prod") {
  const file = join(root, "plan.json");
  writeFileSync(file, `{"errored":false,${parts}}`);
  return readPlan(file, secrecyOf([]), [], { key, workspace, folder });
}
const digestOf = async (parts: string, workspace?: string): Promise<string | undefined> =>
  (await read(parts, workspace)).summary.digest;

const change = `"resource_changes":[
  {"address":"a.same","mode":"managed","change":{"actions":["no-op"],"before":{"x":1},"after":{"x":1},"after_unknown":{}}},
  {"address":"a.b","mode":"managed","provider_name":"p","action_reason":"replace_by_request","change":{
    "actions":["delete","create"],"before":{"size":1,"id":12345678901234567890,"secret":{"z":"old"}},
    "after":{"size":2,"secret":{"z":"new"},"path":"/srv/1/x"},"after_unknown":{"id":true},
    "before_sensitive":{"secret":true},"after_sensitive":{"secret":{"z":true}},"replace_paths":[["size"]]}}]`;
const outputs = `"output_changes":{
  "plain":{"actions":["create"],"before":null,"after":"é","after_unknown":false,"before_sensitive":false,"after_sensitive":false},
  "same":{"actions":["no-op"],"before":1,"after":1,"after_unknown":false}}`;
const both = `${change},${outputs}`;

it("is the SHA-256 of the canonical JSON, with sensitive values as HMAC", async () => {
  const hmac = (json: string): string =>
    `{"sensitive":"${createHmac("sha256", key).update(json).digest("hex")}"}`;
  const expected =
    `{"changes":[{"actions":["delete","create"],"address":"a.b",` +
    String.raw`"after":{"path":"\u0000workspace\u0000/x","secret":{"z":${hmac('"new"')}},"size":2},` +
    `"after_unknown":{"id":true},` +
    `"before":{"id":12345678901234567890,"secret":${hmac('{"z":"old"}')},"size":1}}],` +
    `"outputs":{"plain":{"actions":["create"],"after":"é","after_unknown":false,"before":null}},` +
    `"replace_reasons":{"a.b":"replace_by_request"}}`;
  expect(await digestOf(both)).toBe(createHash("sha256").update(expected).digest("hex"));
});

describe("the digest", () => {
  test.each([
    [
      "other times, versions and serials",
      `"timestamp":"2026-01-01T00:00:00Z","terraform_version":"9.9.9",${both},"prior_state":{"serial":9}`,
    ],
    [
      "another order of attributes",
      both.replace('"size":1,"id":12345678901234567890', '"id":12345678901234567890,"size":1'),
    ],
    [
      "other changes that do nothing",
      both.replaceAll('"x":1', '"x":2').replace("a.same", "a.other"),
    ],
    ["drift", `${both},"resource_drift":[{"address":"a.c","change":{"actions":["update"]}}]`],
  ])("is the same with %s", async (_, parts) => {
    expect(await digestOf(parts)).toBe(await digestOf(both));
  });

  test("is the same in another workspace", async () => {
    const other = both.replace("/srv/1/x", "/elsewhere/2/x");
    expect(await digestOf(other, "/elsewhere/2")).toBe(await digestOf(both));
  });

  test.each([
    ["value", '"size":2', '"size":3'],
    ["former value", '"size":1', '"size":0'],
    ["sensitive value", '"z":"new"', '"z":"newer"'],
    ["former sensitive value", '"z":"old"', '"z":"older"'],
    ["digit of a large number", "12345678901234567890", "12345678901234567891"],
    ["text in place of a number", "12345678901234567890", '"12345678901234567890"'],
    ["unknown attribute", '{"id":true}', '{"id":true,"x":true}'],
    ["address", '"a.b"', '"a.c"'],
    ["action", '["delete","create"]', '["create","delete"]'],
    ["reason", "replace_by_request", "replace_because_tainted"],
    ["output", '"é"', '"e"'],
    ["change that did nothing", '["no-op"]', '["update"]'],
    ["import", '"actions":["no-op"]', '"importing":{"id":"x"},"actions":["no-op"]'],
    ["move", '"address":"a.same"', '"address":"a.same","previous_address":"a.old"'],
  ])("differs with another %s", async (_, from, to) => {
    expect(both).toContain(from);
    const digest = await digestOf(both.replace(from, to));
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(digest).not.toBe(await digestOf(both));
  });

  test("is absent if a value is nested too deeply, and then a value counts as unknown", async () => {
    const deep = '{"a":'.repeat(300) + "1" + "}".repeat(300);
    const { summary } = await read(
      both.replace('"size":2', `"size":${deep}`).replace('{"id":true}', "{}"),
    );
    expect(summary).toMatchObject({ has_unknown: true });
    expect(summary).not.toHaveProperty("digest");
  });

  test("of a long text is that of the whole", async () => {
    const long = (last: string) => both.replace("/srv/1/x", `${"😀x".repeat(100_000)}${last}`);
    expect(await digestOf(long("a"))).not.toBe(await digestOf(long("b")));
    expect(await digestOf(long("a"))).toBe(await digestOf(long("a")));
  });

  test("and its neighbours are absent without a key", async () => {
    const file = join(root, "plan.json");
    writeFileSync(file, `{${both}}`);
    const { summary } = await readPlan(file, secrecyOf([]));
    for (const name of ["digest", "has_unknown", "has_provisioners", "local_modules"])
      expect(summary).not.toHaveProperty(name);
  });
});

test("a plan says whether a change has unknown values", async () => {
  expect((await read(both)).summary.has_unknown).toBe(true);
  const known = both.replace('{"id":true}', '{"tags":{}}');
  expect((await read(known)).summary.has_unknown).toBe(false);
});

describe("the configuration in a plan", () => {
  const resource = (more = "") => `"resources":[{"address":"a.b","mode":"managed"${more}}]`;
  const call = (source: string, module: string) => `{"source":"${source}","module":{${module}}}`;
  const configuration = (module: string) => `${both},"configuration":{"root_module":{${module}}}`;

  test("names its local modules, but not those of modules that were downloaded", async () => {
    const inner = `"module_calls":{"in":${call("./sub", resource())}},"outputs":{"source":{}}`;
    const parts = configuration(
      `"module_calls":{"here":${call("./modules/a/", inner)},"shared":${call("../../shared", "")},"again":${call("../../shared", "")},"far":${call("hashicorp/x/aws", inner)}}`,
    );
    const { summary, directories } = await read(parts);
    const modules = ["envs/prod/modules/a", "envs/prod/modules/a/sub", "shared"];
    expect(summary).toMatchObject({ local_modules: modules, has_provisioners: false });
    expect(directories).toEqual(["envs/prod", ...modules]);
  });

  test("has no directories if one is outside of the source", async () => {
    const parts = configuration(`"module_calls":{"out":${call("../../../x", "")}}`);
    expect((await read(parts)).directories).toBeUndefined();
  });

  test("says whether a resource in any module has a provisioner", async () => {
    const runs = resource(',"provisioners":[{"type":"local-exec"}]');
    const parts = configuration(`"module_calls":{"in":${call("./in", runs)}}`);
    expect((await read(parts)).summary.has_provisioners).toBe(true);
    let nested = resource();
    for (let depth = 0; depth < 10; depth++) nested = `"module_calls":{"m":${call("./m", nested)}}`;
    const { summary, directories } = await read(configuration(nested));
    expect([summary.has_provisioners, directories]).toEqual([true, undefined]);
  });
});
