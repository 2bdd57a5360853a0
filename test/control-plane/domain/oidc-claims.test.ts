import { expect, test } from "vitest";
import {
  groupsIn,
  leavesGroupsOut,
  unverifiedName,
} from "../../../control-plane/domain/oidc-claims.ts";

test.each([
  [{ groups: ["a", "b", "a"] }, "groups", ["a", "b"]],
  [{ groups: "a" }, "groups", ["a"]],
  [{ groups: ["a", 1, null, "", "x".repeat(257)] }, "groups", ["a"]],
  [{ groups: { a: true } }, "groups", []],
  [{}, "groups", []],
  [{ realm_access: { roles: ["r"] } }, "realm_access.roles", ["r"]],
  [{ realm_access: null }, "realm_access.roles", []],
  // A key with dots is tried whole first.
  [
    { "https://acme.example/groups": ["a"], "https://acme": { "example/groups": ["b"] } },
    "https://acme.example/groups",
    ["a"],
  ],
  // Not from the prototype.
  [{}, "constructor.name", []],
])("the groups of %j by the claim %s are %j", (claims, claim, groups) => {
  expect(groupsIn([claims], claim)).toEqual(groups);
});

test("groups come from the ID token first, and are at most 2,000", () => {
  expect(groupsIn([{ groups: ["a"] }, { groups: ["b"] }], "groups")).toEqual(["a"]);
  expect(groupsIn([{ groups: [] }, { groups: ["b"] }], "groups")).toEqual(["b"]);
  const many = Array.from({ length: 3000 }, (_, index) => String(index));
  expect(groupsIn([{ groups: many }], "groups")).toHaveLength(2000);
});

test("claims of Entra say that groups were left out", () => {
  expect(leavesGroupsOut({ _claim_names: { groups: "src1" } }, "groups")).toBe(true);
  expect(leavesGroupsOut({ hasgroups: "true" }, "groups")).toBe(true);
  expect(leavesGroupsOut({ _claim_names: { roles: "src1" } }, "groups")).toBe(false);
});

test("an unverified name is plain text that is no address", () => {
  expect(unverifiedName({ email: "ada@example.com" }, "1")).toBe("ada@example.com (not verified)");
  expect(unverifiedName({ name: "A\u202edA\n\u0007" }, "1")).toBe("AdA (not verified)");
  expect(unverifiedName({}, "4711")).toBe("4711 (not verified)");
});
