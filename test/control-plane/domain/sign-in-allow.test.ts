import { describe, expect, test } from "vitest";
import { allowsAddress, entryOf, signInRule } from "../../../control-plane/domain/sign-in-allow.ts";

describe("an entry of WINDLASS_SIGN_IN_ALLOW", () => {
  test.each([
    ["*", { kind: "everyone" }],
    ["ada@example.com", { kind: "address", address: "ada@example.com" }],
    ["@example.com", { kind: "domain", domain: "example.com" }],
    ["github:org/acme-Inc", { kind: "group", provider: "github", group: "acme-Inc" }],
    ["gitlab:group/acme/infra/a.b", { kind: "group", provider: "gitlab", group: "acme/infra/a.b" }],
    ["oidc:*", { kind: "everyone", provider: "oidc" }],
    ["oidc_2:group//staff: a/b", { kind: "group", provider: "oidc_2", group: "/staff: a/b" }],
  ] as const)("is read, and written the same: %s", (text, rule) => {
    expect(signInRule(text)).toEqual(rule);
    expect(entryOf(rule)).toBe(text);
  });

  test.each([
    ["Ada@Example.com", "ada@example.com"],
    ["@Example.com", "@example.com"],
  ])("is in lower case if it is an address or a domain: %s", (text, entry) => {
    expect(entryOf(signInRule(text)!)).toBe(entry);
  });

  test.each([
    "example.com",
    "@",
    "a@b@c",
    "*@example.com/x",
    "github:acme",
    "the-github:org/acme",
    "the-gitlab:group/acme",
    "gitlab:group/acme!",
    "github:org/",
    "github:org/a/b",
    "github:org/../user",
    "gitlab:group/",
    "gitlab:group/../x",
    "gitlab:group//x",
    "google:org/acme",
    "oidc:group/",
    "oidc_10:*",
    "oidc:*x",
    "oidc:engineers",
    "a b@example.com",
  ])("is refused: %s", (text) => {
    expect(signInRule(text)).toBeUndefined();
  });
});

test.each<[string, string[], boolean]>([
  ["ada@example.com", ["ada@example.com"], true],
  ["ada@example.com", ["ADA@Example.COM"], true],
  ["ada@example.com", ["other@example.org", "ada@example.com"], true],
  ["ada@example.com", ["xada@example.com"], false],
  ["ada@example.com", ["ada@example.com.evil.example"], false],
  ["@example.com", ["eve@example.com"], true],
  ["@example.com", ["eve@sub.example.com"], false],
  ["@example.com", ["eve@evilexample.com"], false],
  ["@example.com", ["eve@example.com.evil.example"], false],
  ["@example.com", [], false],
  // The Kelvin sign U+212A becomes a k in lower case.
  ["@kelvin.example", ["eve@\u212Aelvin.example"], false],
  ["*", ["eve@evil.example"], true],
  ["github:org/acme", ["acme@acme"], false],
])("the entry %s with the addresses %j allows: %s", (entry, addresses, isAllowed) => {
  const rule = signInRule(entry);
  expect(allowsAddress(rule ? [rule] : [], addresses)).toBe(isAllowed);
});
