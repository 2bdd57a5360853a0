/** The table of permissions, and that every endpoint for people and access tokens has one. */
import { describe, expect, it } from "vitest";
import {
  checkPermission,
  includesRole,
  permissionForJob,
  type Permitted,
} from "../../../control-plane/domain/roles.ts";
import { endpoints } from "../../../protocol/endpoints.ts";
import type { Endpoint } from "../../../protocol/endpoint.ts";
import { roles } from "../../../protocol/roles.ts";

const may = (caller: Permitted, permission: Parameters<typeof checkPermission>[1]): boolean => {
  try {
    checkPermission(caller, permission);
    return true;
  } catch {
    return false;
  }
};

describe("a permission", () => {
  it.each([
    ["read", [true, true, true, true]],
    ["plan", [false, true, true, true]],
    ["deploy", [false, false, true, true]],
    ["approve", [false, false, false, false]],
    ["configure", [false, false, true, true]],
    ["administer", [false, false, false, true]],
    ["account", [false, false, false, false]],
  ] as const)("to %s belongs to viewer, planner, deployer, admin: %j", (permission, expected) => {
    const found = roles.map((role) => may({ role, login_kind: "token" }, permission));
    expect(found).toEqual(expected);
  });

  it("to manage an account belongs to people, whatever their role", () => {
    expect(may({ role: "viewer", login_kind: "cli" }, "account")).toBe(true);
    expect(may({ role: "admin", login_kind: "session" }, "account")).toBe(true);
  });

  it("to approve belongs to people who may deploy", () => {
    expect(roles.map((role) => may({ role, login_kind: "cli" }, "approve"))).toEqual([
      false,
      false,
      true,
      true,
    ]);
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
});

it("every endpoint that a person or an access token may call declares its permission", () => {
  const all: [string, Endpoint][] = Object.entries(endpoints);
  const forUsers = new Set(["session", "client", "registrant"]);
  const wrong = all.filter(
    ([, { caller, permission }]) => forUsers.has(caller) !== (permission !== undefined),
  );
  expect(wrong.map(([name]) => name)).toEqual([]);
});
