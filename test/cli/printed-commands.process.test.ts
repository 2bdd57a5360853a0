/** The commands that the client prints act in the team in which the user's own command acted. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CreatedAccessToken } from "../../protocol/access-tokens.ts";
import type { Job } from "../../protocol/jobs.ts";
import { copyFixture } from "../helpers/agent/fixtures.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { userMachine } from "../helpers/cli/user-machine.ts";
import { windlass } from "../helpers/cli/windlass.ts";

const { plane } = planeForFile();

const nouns =
  "zones|configurations|variable-sets|jobs|state|workers|tokens|access-tokens|identities|audit|teams (?:members|invitations|invite)";
/** A command ends at the end of its line, or where the sentence goes on. */
const printed = new RegExp(String.raw`windlass (?:${nouns})\b.*?(?=$|\)|, then|\. )`, "gm");

test("every printed command has --team, if the command before had it", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Platform", "--slug", "platform");
  const inTeam = ["--team", "platform"];
  const directory = copyFixture("success-cluster", join(ada.path, "net"));
  const stateFile = join(ada.path, "state.json");
  const resource = {
    mode: "managed",
    type: "terraform_data",
    name: "a",
    provider: 'provider["terraform.io/builtin/terraform"]',
    instances: [{ schema_version: 0, attributes: { id: "1" } }],
  };
  const lineage = "0b1c7b0e-6f0e-4d1e-9a53-0d3d2f1c5a77";
  writeFileSync(
    stateFile,
    JSON.stringify({ version: 4, serial: 1, lineage, outputs: {}, resources: [resource] }),
  );
  const wrong: string[] = [];
  /** Runs a command that prints at least one other. */
  const prints = async (...words: string[]): Promise<void> => {
    const { stdout, stderr } = await ada.run(...words, ...inTeam);
    const text = `${String(stdout)}\n${String(stderr)}`;
    const commands = text.match(printed) ?? ["no command"];
    for (const command of commands.filter((one) => !one.includes("--team platform")))
      wrong.push(`${words.join(" ")}: ${command}`);
  };

  for (const noun of ["zones", "variable-sets", "workers", "identities", "jobs"])
    await prints(noun, "list");
  await prints("teams", "invitations", "list");
  const create = ["configurations", "create", "net", "--dir", directory];
  await prints(...create);
  await ada.json("zones", "create", "production", ...inTeam);
  await prints(...create);
  await prints("zones", "delete", "production", "--yes");
  await prints("workers", "create", "runner-1");

  for (const noun of ["zones", "configurations", "variable-sets", "workers", "identities"])
    await prints(noun, "show", "missing");
  for (const words of [
    ["tokens", "revoke"],
    ["access-tokens", "revoke"],
    ["teams", "members", "remove"],
    ["teams", "invitations", "revoke"],
    ["state", "list"],
    ["jobs", "show"],
  ])
    await prints(...words, "missing");
  await prints("jobs", "show", "01890a5d");
  await prints("jobs", "show", "01890a5d-ac96-7000-8000-00000000000a");

  await prints("jobs", "plan", "net");
  await prints("jobs", "retry", "net/-");
  const [{ id } = { id: "" }] = await ada.json<Job[]>("jobs", "list", ...inTeam);
  await ada.json("jobs", "cancel", id, ...inTeam);
  await prints("jobs", "retry", id);
  await prints("jobs", "retry", id);
  await ada.json("jobs", "cancel", "net/-", ...inTeam);
  await prints("jobs", "destroy", "net");
  await prints("state", "push", "net", "--file", stateFile, "--yes");
  const rolledBack = await ada.run("state", "rollback", "net", "--serial", "1", "--yes", ...inTeam);
  expect(rolledBack.stderr).toBe(
    "Check that a plan changes nothing: windlass jobs plan net --wait --team platform",
  );
  await prints("state", "show", "net", "terraform_data.b");
  await prints("state", "download", "net", "--serial", "9");
  await prints("configurations", "delete", "net", "--yes");
  await ada.json("configurations", "update", "net", "--approvals", "1", ...inTeam);
  await prints("jobs", "deploy", "net");
  expect(wrong).toEqual([]);
});

test("commands printed in the personal space keep --team '', if another team is the default", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Sales", "--slug", "sales");
  await ada.user.configure({ name: "net" });
  const env = { ...ada.environment, WINDLASS_TEAM: "sales" };
  for (const words of [
    ["jobs", "list", "--status", "queued", "--team", ""],
    ["workers", "list", "--team", ""],
    ["jobs", "plan", "net", "--team", ""],
    ["jobs", "list", "--waiting-for-me", "--team", ""],
    ["whoami", "--team", ""],
  ]) {
    const { exitCode, stdout, stderr } = await windlass(words, { env });
    expect([words, exitCode]).toEqual([words, 0]);
    for (const command of `${String(stdout)}\n${String(stderr)}`.match(printed) ?? [])
      expect([words, command]).toEqual([words, expect.stringMatching(/ --team ""$/)]);
  }
  const planned = await windlass(["jobs", "plan", "net", "--team", ""], { env });
  expect(planned.stderr).toMatch(/windlass jobs logs \S+ --follow --team ""$/);
  const wrong = await windlass(["teams", "show", "--team", ""], { env });
  expect(wrong).toMatchObject({ exitCode: 2 });
  expect(wrong.stderr).toContain("Missing team.");
  // Without another default, the option is not needed.
  const plain = await ada.run("jobs", "plan", "net", "--team", "");
  expect(plain.stderr).toMatch(/windlass jobs logs \S+ --follow$/);
});

test("an access token, which acts in its own space, refuses --team ''", async () => {
  await using ada = await userMachine(plane);
  const created = ["access-tokens", "create", "ci", "--role", "viewer"];
  const { access_token } = await ada.json<CreatedAccessToken>(...created);
  const env = { ...ada.environment, WINDLASS_TOKEN: access_token };
  expect(await windlass(["zones", "list"], { env })).toMatchObject({ exitCode: 0 });
  const refused = await windlass(["zones", "list", "--team", ""], { env });
  expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
  expect(refused.stderr).toBe(
    'windlass: WINDLASS_TOKEN is an access token, which acts only in the space in which it was created: remove --team ""',
  );
});
