import { expect, test } from "vitest";
import { metadataFrom } from "../../../agent/job/outcome.ts";

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

test("an output named __proto__ is accepted", () => {
  const all = JSON.parse('{"__proto__":{"type":"string","value":"x","sensitive":false}}') as never;
  expect(() => metadataFrom(all)).not.toThrow();
});
