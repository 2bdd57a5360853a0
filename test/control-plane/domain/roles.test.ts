/** The table of permissions, and that every endpoint for people and access tokens has one. */
import { describe, expect, it } from "vitest";
import {
  checkPermission,
  givableRoles,
  includesRole,
  mayDo,
  permissionForJob,
  rolesWith,
  type Permitted,
} from "../../../control-plane/domain/roles.ts";
import { endpoints } from "../../../protocol/endpoints.ts";
import type { Endpoint } from "../../../protocol/endpoint.ts";
import { roles, type Permission } from "../../../protocol/roles.ts";

const may = (caller: Permitted, permission: Permission): boolean => {
  const isAllowed = mayDo(caller, permission);
  const check = (): void => {
    checkPermission(caller, permission);
  };
  if (isAllowed) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: "permission_denied" }));
  return isAllowed;
};

describe("a permission", () => {
  it.each([
    ["read", [true, true, true, true]],
    ["plan", [false, true, true, true]],
    ["deploy", [false, false, true, true]],
    ["approve", [false, false, false, false]],
    ["configure", [false, false, true, true]],
    ["administer", [false, false, false, true]],
    ["members", [false, false, false, false]],
    ["account", [false, false, false, false]],
  ] as const)(
    "to %s belongs to tokens of a viewer, planner, deployer, admin: %j",
    (permission, expected) => {
      const found = roles.map((role) => may({ role, login_kind: "token" }, permission));
      expect(found).toEqual(expected);
    },
  );

  it.each([
    ["account", roles],
    ["approve", ["deployer", "admin"]],
    ["members", ["admin"]],
  ] as const)("to %s belongs to people with the roles %j", (permission, expected) => {
    for (const login_kind of ["cli", "session"] as const)
      expect(roles.filter((role) => may({ role, login_kind }, permission))).toEqual(expected);
    expect(rolesWith(permission)).toEqual(expected);
  });

  it("to approve is refused to an access token with what to do", () => {
    expect(() => checkPermission({ role: "admin", login_kind: "token" }, "approve")).toThrow(
      "Access tokens cannot do this, because it belongs to a person: sign in instead",
    );
  });

  it("is refused with the role that is needed and the role of the caller", () => {
    const token = { role: "planner", login_kind: "token", token_name: "ci" } as const;
    expect(() => checkPermission(token, "deploy")).toThrow(
      'This needs the role deployer. The access token "ci" has the role planner, at most that of its creator.',
    );
    expect(() => checkPermission({ role: "viewer", login_kind: "cli" }, "plan")).toThrow(
      "This needs the role planner. You have the role viewer.",
    );
  });

  it.each([
    ["PLAN", false, "plan"],
    ["PLAN", true, "deploy"],
    ["DEPLOY", false, "deploy"],
    ["DESTROY", false, "deploy"],
    ["DESTROY_WORKER", false, "administer"],
  ] as const)("for a %s, with a source of its own: %s, is %s", (type, hasOwnSource, permission) => {
    expect(permissionForJob(type, hasOwnSource)).toBe(permission);
  });
});

it("a role includes itself and those before it", () => {
  expect(roles.map((role) => includesRole("planner", role))).toEqual([true, true, false, false]);
  expect(givableRoles({ role: "planner" })).toEqual(["viewer", "planner"]);
});

it("every endpoint that a person or an access token may call declares its permission", () => {
  const all: [string, Endpoint][] = Object.entries(endpoints);
  const forUsers = new Set(["session", "client", "registrant"]);
  const wrong = all.filter(
    ([, { caller, permission }]) => forUsers.has(caller) !== (permission !== undefined),
  );
  expect(wrong.map(([name]) => name)).toEqual([]);
});
