import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { enter } from "../../../../agent/job/isolation/enter.ts";

/** Names that a shell uses itself, or refuses to set. */
const names = ["n", "entry", "IFS", "OPTIND", "PPID", "UID", "LINENO", "SHELLOPTS"];

test.each(["/bin/sh", "/bin/bash"].filter(existsSync))(
  "no name of an environment variable keeps %s from running the command",
  (shell) => {
    const own = Object.fromEntries(names.map((name) => [name, "x"]));
    const env = { ...own, LINES: "1\n2", PATH: "/usr/bin:/bin", LAST: "end" };
    const command = { directory: "", command: "/usr/bin/env", args: [], cwd: "/", env };
    const entered = enter(command, "WINDLASS_JOB=id");
    const output = execFileSync(shell, [...entered.args], { env: entered.env, encoding: "utf8" });
    for (const line of ["n=x", "entry=x", "IFS=x", "LINES=1\n2", "LAST=end", "WINDLASS_JOB=id"])
      expect(`\n${output}`).toContain(`\n${line}\n`);
    expect(output).not.toContain("WINDLASS_ENTRY");
  },
);
