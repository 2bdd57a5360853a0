/** `windlass variable-sets` against a real server. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { VariableSet } from "../../../protocol/variable-sets.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { windlass } from "../../helpers/cli/windlass.ts";

const { plane } = planeForFile();

test("a set is created, changed, attached and detached, and its secrets are never shown", async () => {
  await using ada = await userMachine(plane);
  const id = await ada.user.configure({ name: "network", variables: { size: { value: 3 } } });
  const secret = "correct horse battery staple";
  const words = ["create", "common", "--var", "size=9", "--var", "region=eu", "--zone", "zone"];
  const secretly = ["--env", "HELM_DRIVER=secret", "--sensitive-env", "DNS_API_TOKEN"];
  const made = await windlass(["variable-sets", ...words, ...secretly], {
    env: ada.environment,
    input: `${secret}\n`,
  });
  expect(made).toMatchObject({ exitCode: 0, stderr: "" });
  expect(made.stdout).toMatch(/^environment +HELM_DRIVER=secret\n +DNS_API_TOKEN=\(sensitive\)$/m);
  expect(made.stdout).toMatch(/^zones +zone$/m);
  expect(made.stdout).not.toContain(secret);

  const file = join(ada.path, "ids.tfvars.json");
  writeFileSync(file, '{"account": 12345678901234567890}');
  const values = ["--unset", "size", "--unset-env", "HELM_DRIVER", "--var-file", file];
  const changed = await ada.json<VariableSet>("variable-sets", "update", "common", ...values);
  expect(changed.variables).toEqual({
    region: { value: "eu" },
    account: { value: "12345678901234567890" },
  });
  expect(changed.environment).toEqual({ DNS_API_TOKEN: { sensitive: true } });

  const shown = await ada.run("configurations", "show", "network");
  expect(shown.stdout).toMatch(/^variables +size = 3$/m);
  expect(shown.stdout).toMatch(/^ +region = eu +\(from the variable set "common"\)$/m);
  expect(shown.stdout).toMatch(/DNS_API_TOKEN=\(sensitive\) +\(from the variable set "common"\)$/m);
  expect(shown.stdout).toMatch(/^variable sets +common \(attached to the zone\)$/m);

  const attach = ["common", "--configuration", id.slice(0, 35)];
  const attached = await ada.json<VariableSet>("variable-sets", "attach", ...attach);
  expect(attached.configuration_ids).toEqual([id]);
  const refused = await ada.run("variable-sets", "delete", "common", "--yes");
  expect(refused).toMatchObject({ exitCode: 1 });
  expect(refused.stderr).toMatch(
    /detach it first\. Run: windlass variable-sets detach common --zone zone --configuration network$/,
  );
  const everywhere = ["--configuration", "network", "--zone", "zone"];
  const twice = await ada.run("variable-sets", "attach", "common", "--zone", "zone");
  expect(twice.stderr).toBe('The variable set "common" was already attached to the zone "zone".');
  // Named twice, it is detached once.
  const detached = await ada.run(
    "variable-sets",
    "detach",
    changed.id.slice(0, 13),
    ...everywhere,
    ...everywhere,
  );
  expect(detached).toMatchObject({ exitCode: 0, stderr: "" });
  const again = await ada.run("variable-sets", "detach", "common", ...everywhere);
  expect(again).toMatchObject({
    exitCode: 0,
    stderr:
      'The variable set "common" was not attached to the zone "zone".\nThe variable set "common" was not attached to the configuration "network".',
  });
  const { variable_sets } = await ada.json<Configuration>("configurations", "show", "network");
  expect(variable_sets).toEqual([]);
  const table = await ada.run("variable-sets", "list");
  expect(table.stdout).toMatch(/^common +2 +1 +0 +0 +\d+s ago +[\da-f-]{36}$/m);
  const unasked = await ada.run("variable-sets", "delete", "common");
  expect(unasked).toMatchObject({ exitCode: 2 });
  const removed = await ada.run("variable-sets", "delete", "common", "--yes");
  expect(removed.stderr).toBe('The variable set "common" is deleted.');
  expect(await ada.json("variable-sets", "list")).toEqual([]);
});

test("wrong arguments are reported and change nothing", async () => {
  await using ada = await userMachine(plane);
  await ada.json("variable-sets", "create", "common");
  for (const [words, message] of [
    [["update", "common"], "Nothing to change."],
    [["update", "common", "--unset", "x"], 'There is no variable "x" to unset.'],
    [["update", "common", "--unset-env", "X"], 'There is no environment variable "X" to unset.'],
    [["update", "commun", "--var", "a=1"], "Did you mean common?"],
    [["update", "common", "--var-file", "x.tfvars"], "takes the JSON form, .tfvars.json"],
    [
      ["create", "other", "--sensitive", "a", "--sensitive-env", "B"],
      "of a, then of B, one per line",
    ],
    [["create", "other", "--sensitive", "a"], "Pipe in the value of a"],
    [["create", "other", "--zone", "zome"], "Did you mean zone?"],
    [["attach", "common"], "Pass --zone or --configuration"],
    [["detach", "common", "--configuration", "x"], 'There is no configuration "x".'],
  ] as const) {
    const refused = await ada.run("variable-sets", ...words);
    expect({ words, stdout: refused.stdout }).toEqual({ words, stdout: "" });
    expect(refused.exitCode).toBeGreaterThan(0);
    expect(refused.stderr).toContain(message);
  }
  const [set] = await ada.json<VariableSet[]>("variable-sets", "list");
  expect(set).toMatchObject({ name: "common", variables: {}, zone_ids: [], configuration_ids: [] });
});
