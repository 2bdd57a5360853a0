import { describe, expect, it } from "vitest";
import { usersIn } from "../../../../agent/job/isolation/settings.ts";

describe("the users for jobs, by the map of the user namespace", () => {
  const usual = [1_880_000_000, 1_896_777_215];
  it.each([
    ["a machine", "         0          0 4294967295\n", usual],
    [
      "podman without root",
      "         0       1000          1\n         1     100000      65536\n",
      [55_534, 65_533],
    ],
    ["Kubernetes with hostUsers: false", "0 231072 65536\n", [55_534, 65_533]],
    ["a few users", "0 1000 1\n1 200000 100\n", [1, 100]],
    ["many users", "0 1000000 1000000\n", [990_000, 999_999]],
    ["root alone", "0 1000 1\n", usual],
  ])("%s", (_, map, users) => {
    expect(usersIn(map)).toEqual(users);
  });
});
