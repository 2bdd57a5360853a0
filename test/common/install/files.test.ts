import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { environmentOf, isHidden, unitOf } from "../../../common/install/files.ts";
import { root } from "../../helpers/project/source-files.ts";

test.each([
  ["agent", 254],
  ["server", 253],
])("unitOf changes only the command of the template of the %s", (role, systemd) => {
  const template = readFileSync(join(root, `systemd/windlass-${role}.service`), "utf8");
  const unit = unitOf(template, "/opt/windlass/bin/windlass", systemd);
  const differing = unit.split("\n").filter((line) => !template.split("\n").includes(line));
  expect(differing).toEqual([`ExecStart=/opt/windlass/bin/windlass ${role}`]);
});

test("unitOf starts the agent in a subgroup, by systemd from 254 on", () => {
  const template = readFileSync(join(root, "systemd/windlass-agent.service"), "utf8");
  const settings = (systemd: number) =>
    unitOf(template, "/opt/windlass/bin/windlass", systemd).match(/^(Delegate|ExecStopPost).*$/gm);
  expect(settings(253)).toEqual(["Delegate=memory pids", expect.stringMatching(/^ExecStopPost=-/)]);
  expect(settings(254)).toEqual(["Delegate=memory pids", "DelegateSubgroup=agent"]);
});

test.each(["/opt/my windlass", "/opt/%n/windlass", "/opt/$HOME", '/opt/"x"', "windlass"])(
  "unitOf refuses a command with special characters or a relative path: %s",
  (command) => {
    expect(() => unitOf("ExecStart=/x agent", command, 254)).toThrow(
      "cannot be written in a unit file",
    );
  },
);

test("environmentOf changes the given settings and keeps every other line", () => {
  const first = environmentOf("agent", "", { WINDLASS_URL: "https://w.example.com" });
  const edited = `${first}# mine\nHTTPS_PROXY=http://proxy:3128\n`;
  const second = environmentOf("agent", edited, {
    WINDLASS_URL: "https://other.example.com",
    WINDLASS_WORKER_NAME: 'the "big" one \\ $5',
    WINDLASS_LABELS: undefined,
  });
  expect(second.split("\n").slice(1)).toEqual([
    "WINDLASS_URL=https://other.example.com",
    "# mine",
    "HTTPS_PROXY=http://proxy:3128",
    'WINDLASS_WORKER_NAME="the \\"big\\" one \\\\ \\$5"',
    "",
  ]);
});

test("isHidden returns true for the directories that ProtectHome hides", () => {
  const hidden = ["root", "home", "run/user"].map((folder) => `/${folder}/me/bin/windlass`);
  expect([...hidden, "/opt/w", "/homes/w"].map(isHidden)).toEqual([true, true, true, false, false]);
});
