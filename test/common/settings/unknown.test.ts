import { expect, test } from "vitest";
import { agentSettings } from "../../../common/settings/agent.ts";
import { clientSettings } from "../../../common/settings/client.ts";
import { serverSettings } from "../../../common/settings/server.ts";
import { unknownSettings } from "../../../common/settings/unknown.ts";

const environmentOf = (...names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, "x"]));

test.each(["server", "agent", "client"] as const)(
  "every setting of any role, and its file, is known to the %s",
  (role) => {
    const all = { ...serverSettings, ...agentSettings, ...clientSettings };
    const files = ["WINDLASS_SECRET_KEY_OLD_FILE", "WINDLASS_WORKER_TOKEN_FILE"];
    expect(unknownSettings(role, environmentOf(...Object.keys(all), ...files))).toEqual([]);
  },
);

test.each([
  ["server", "WINDLASS_PROT", "WINDLASS_PORT"],
  ["agent", "WINDLASS_WORKDIR", "WINDLASS_WORK_DIR"],
  ["agent", "WINDLASS_WORKER_TOKENFILE", "WINDLASS_WORKER_TOKEN_FILE"],
  // The role's own setting first, then those of the others.
  ["client", "WINDLASS_URLS", "WINDLASS_URL"],
  ["server", "WINDLASS_WORKDIR", "WINDLASS_WORK_DIR"],
] as const)("the %s suggests for the unknown %s the setting %s", (role, name, meant) => {
  expect(unknownSettings(role, environmentOf(name))).toEqual([
    `${name} is not a setting and is ignored: did you mean ${meant}?`,
  ]);
});

test("a name that resembles no setting gets no suggestion, and names of other programs get no warning", () => {
  expect(unknownSettings("agent", environmentOf("WINDLASS_MAGIC_NUMBER", "OTHER"))).toEqual([
    "WINDLASS_MAGIC_NUMBER is not a setting and is ignored",
  ]);
  // Only a secret can be read from a file.
  expect(unknownSettings("server", environmentOf("WINDLASS_PORT_FILE"))).toHaveLength(1);
});
