import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { environmentOf, isHidden, unitOf } from "../../../agent/install/files.ts";
import { root } from "../../helpers/source-files.ts";

test("The unit differs from the one in the tree by its command alone", () => {
  const template = readFileSync(join(root, "systemd/windlass-agent.service"), "utf8");
  const unit = unitOf(template, "/opt/windlass/bin/windlass", 254);
  const differing = unit.split("\n").filter((line) => !template.split("\n").includes(line));
  expect(differing).toEqual(["ExecStart=/opt/windlass/bin/windlass agent"]);
});

test("Before systemd 254 the control group of the service is not divided", () => {
  const template = readFileSync(join(root, "systemd/windlass-agent.service"), "utf8");
  const settings = (systemd: number) =>
    unitOf(template, "/opt/windlass/bin/windlass", systemd).match(/^Delegate.*$/gm);
  expect(settings(253)).toBeNull();
  expect(settings(254)).toEqual(["Delegate=memory pids", "DelegateSubgroup=agent"]);
});

test.each(["/opt/my windlass", "/opt/%n/windlass", "/opt/$HOME", '/opt/"x"', "windlass"])(
  "A command that would mean something else in a unit is refused: %s",
  (command) => {
    expect(() => unitOf("ExecStart=/x agent", command, 254)).toThrow(
      "cannot be written in a unit file",
    );
  },
);

test("Settings are changed line by line, and everything else stays", () => {
  const first = environmentOf("", { WINDLASS_URL: "https://w.example.com" });
  const edited = `${first}# mine\nHTTPS_PROXY=http://proxy:3128\n`;
  const second = environmentOf(edited, {
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

test("What ProtectHome hides is known before the service fails to start", () => {
  const hidden = ["root", "home", "run/user"].map((folder) => `/${folder}/me/bin/windlass`);
  expect([...hidden, "/opt/w", "/homes/w"].map(isHidden)).toEqual([true, true, true, false, false]);
});
