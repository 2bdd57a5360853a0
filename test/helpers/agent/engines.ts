/**
 * The engine of a run: terraform, or a real OpenTofu in the projects that repeat the tests of jobs
 * with it.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Engine } from "../../../protocol/configurations.ts";

export const testEngine: Engine =
  process.env["WINDLASS_TEST_ENGINE"] === "opentofu" ? "opentofu" : "terraform";

/** Its program. */
export const testProgram = testEngine === "opentofu" ? "tofu" : "terraform";

/** Whether a line of `processesOf` is the engine's apply, without the wrapper or a sandbox around it. */
export const isApply = (line: string): boolean =>
  new RegExp(`^\\d+: \\S*${testProgram} apply`).test(line);

/** A line of a page of the documents, as a user of the engine types it. */
export const asTyped = (line: string): string =>
  testEngine === "terraform"
    ? line
    : line
        .replaceAll(/\bterraform (?=(init|apply|output|state|workspace) )/g, "tofu ")
        .replace(/^windlass (up|configurations create)\b/, "$& --engine opentofu");

/** Words that a command of the client needs to create a configuration of the engine. */
export const engineWords = (words: readonly string[]): string[] =>
  testEngine === "opentofu" && /^(up|configurations create)\b/.test(words.join(" "))
    ? ["--engine", testEngine]
    : [];

/** A real OpenTofu: the file that WINDLASS_TEST_TOFU names, else `tofu` on the PATH. */
export function realTofu(): string | undefined {
  const { WINDLASS_TEST_TOFU: named, PATH = "" } = process.env;
  const files = PATH.split(delimiter).map((folder) => join(folder, "tofu"));
  return [...(named ? [named] : []), ...files].find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The tests in which jobs run an engine. Those of e2e, acceptance and faults that are not here run none. */
export const withEngine = {
  e2e: ["agent-control-plane", "proto-names", "up-files", "up"],
  acceptance: [
    "approvals",
    "backend-and-ephemeral",
    "beside-terraform",
    "debug-log",
    "early-evaluation",
    "git-source",
    "import-and-monorepo",
    "jobs-command",
    "leaving",
    "moving-in",
    "no-terraform-files",
    "packages",
    "plan-options",
    "terraform-state",
    "value-precedence",
  ],
  faults: [
    "agent-cancel",
    "agent-clock",
    "agent-errors",
    "agent-life",
    "agent-lossy",
    "agent-many",
    "agent-orders",
    "agent-reboot",
    "agent-signals",
    "apply-kills",
    "cloud-credentials",
    "isolation",
    "kill-table",
    "large-log",
    "planted-providers",
    "server-away",
    "servers-and-agents",
    "shared-providers",
    "state-outages",
  ],
} as const;
