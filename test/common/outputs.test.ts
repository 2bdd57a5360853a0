import { expect, test } from "vitest";
import { metadataFrom as metadataWith, outputsInState } from "../../common/outputs.ts";
import { secrecyOf } from "../../common/redaction/secrecy.ts";

const metadataFrom = (all: Parameters<typeof metadataWith>[0], secrets: string[] = []) =>
  metadataWith(all, secrecyOf(secrets).hides);

const text = (value: unknown, sensitive = false) => ({ type: "string", value, sensitive });

test("known outputs are copied if they are strings and not sensitive", () => {
  const { metadata } = metadataFrom({
    cluster_name: text("prod"),
    cluster_endpoint: text("https://secret", true),
    gitops_url: { type: "number", value: 7, sensitive: false },
  });
  expect(metadata).toEqual({
    cluster_name: "prod",
    outputs: {
      cluster_name: { type: "string", value: "prod", sensitive: false },
      cluster_endpoint: { type: "string", sensitive: true },
      gitops_url: { type: "number", value: 7, sensitive: false },
    },
  });
});

test("the values of sensitive outputs are returned only as secrets to mask", () => {
  const { metadata, secrets } = metadataFrom({
    a: { type: "dynamic", sensitive: true, value: { user: "admin", keys: ["k1-secret", 42] } },
  });
  expect(secrets).toEqual(["admin", "k1-secret", "42"]);
  expect(JSON.stringify(metadata)).not.toContain('secret"');
  expect(JSON.stringify(metadata)).not.toContain("admin");
});

test("an output that contains a known secret is sensitive, also nested and encoded", () => {
  const secret = "hunter2-Zoë/+";
  const base64 = Buffer.from(`user:${secret}`).toString("base64");
  const lines = "-----BEGIN KEY-----\nfirst line of it\n-----END KEY-----";
  const { metadata } = metadataFrom(
    {
      plain: text(secret),
      inside: text(`postgres://ada:${encodeURIComponent(secret)}@db`),
      nested: { type: "dynamic", sensitive: false, value: { a: [{ b: secret }] } },
      name: { type: ["map", "string"], sensitive: false, value: { [secret]: "x" } },
      encoded: text(base64.replaceAll(/.{16}/g, "$&\n")),
      indented: text(lines.replaceAll("\n", "\n    ")),
      number: { type: "number", sensitive: false, value: 12_345_678 },
      cluster_name: text(`of ${secret}`),
      typed: {
        type: ["object", { [secret]: "string" }],
        sensitive: true,
        value: { [secret]: "x" },
      },
      other: text("hunter2"),
    },
    [secret, lines, "12345678"],
  );
  expect(JSON.stringify(metadata)).not.toMatch(/-Zo|BEGIN|12345678/);
  const { other, ...hidden } = metadata.outputs as Record<string, { sensitive: boolean }>;
  expect(other).toEqual({ type: "string", sensitive: false, value: "hunter2" });
  for (const output of Object.values(hidden)) expect(output).toMatchObject({ sensitive: true });
  expect(hidden["typed"]).toEqual({ type: "omitted", sensitive: true });
  expect(metadata.cluster_name).toBeUndefined();
});

test("an output above the limit is replaced by its size", () => {
  const { metadata } = metadataFrom({ big: text("x".repeat(300_000)), small: text("s") });
  expect(metadata.outputs).toEqual({
    big: { type: "string", sensitive: false, omitted_bytes: 300_002 },
    small: { type: "string", sensitive: false, value: "s" },
  });
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`o${index}`, text("x".repeat(200_000))]),
  );
  expect(JSON.stringify(metadataFrom(many).metadata).length).toBeLessThan(2.2 * 1024 * 1024);
});

test("outputs whose names and types are too large in total are counted", () => {
  const names = Array.from({ length: 3000 }, (_, index) => `${"n".repeat(1000)}${index}`);
  const all = Object.fromEntries(names.map((name) => [name, text("")]));
  const { outputs, outputs_omitted } = metadataFrom({ ...all, last: text("s") }).metadata;
  const kept = Object.keys(outputs).length;
  expect(kept).toBeGreaterThan(2000);
  expect(kept + Number(outputs_omitted)).toBe(3001);
  expect(outputs["last"]).toEqual({ type: "string", sensitive: false, value: "s" });
  expect(metadataFrom({ a: text("") }).metadata).not.toHaveProperty("outputs_omitted");
});

test("an output named __proto__ is accepted", () => {
  const all = JSON.parse('{"__proto__":{"type":"string","value":"x","sensitive":false}}') as never;
  expect(() => metadataFrom(all)).not.toThrow();
});

test("the outputs of a state are those that terraform prints", () => {
  const outputs = {
    id: { value: 12_345_678, type: "number" },
    password: { value: "hunter2", type: "string", sensitive: true },
  };
  const text = JSON.stringify({ version: 4, outputs }).replace("12345678", "1234567890123456789");
  const hides = secrecyOf([]).hides;
  expect(outputsInState(text, hides)).toEqual({
    metadata: {
      outputs: {
        id: { type: "number", sensitive: false, value: "1234567890123456789" },
        password: { type: "string", sensitive: true },
      },
    },
    secrets: ["hunter2"],
  });
});

test.each([
  ["is encrypted", '{"meta":{},"encrypted_data":"x","encryption_version":"v0"}'],
  ["has an unknown version", '{"version":5,"outputs":{}}'],
  ["has no outputs", '{"version":4}'],
  ["has an output of an unknown form", '{"version":4,"outputs":{"a":null}}'],
  ["is not JSON", "{"],
])("a state that %s is left to terraform", (_, text) => {
  expect(outputsInState(text, () => false)).toBeUndefined();
});

test("an output that is called __proto__ is kept", () => {
  const all = Object.fromEntries([["__proto__", text("p")]]);
  const { metadata } = metadataFrom(all);
  expect(Object.entries(metadata.outputs)).toEqual([["__proto__", text("p")]]);
});
