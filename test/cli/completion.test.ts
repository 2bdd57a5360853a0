/** Completion in the shells themselves, where they are installed. */
import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { windlass } from "../helpers/windlass.ts";

/** bash is on every machine that the tests run on. Of the other two there may be none, and nothing of this project installs them. */
const isHere = (shell: string): boolean => {
  const found = spawnSync(shell, ["-c", "exit"]).status === 0;
  if (!found) process.stdout.write(`completion in ${shell}: not run, there is no ${shell} here\n`);
  return found;
};
const script = async (shell: string): Promise<string> =>
  (await windlass(["completion", shell])).stdout as string;

/** How each shell is started bare, what it is asked, and what it has to answer. */
const asks: Readonly<Record<string, [args: string[], text: string, offered: RegExp]>> = {
  zsh: [
    ["-f"],
    "autoload -U compinit && compinit -u -D\nSCRIPT\nprint $_comps[windlass]",
    /_bash_complete/,
  ],
  fish: [["--no-config"], "SCRIPT\ncomplete -C 'windlass jobs d'", /^deploy\b[\s\S]*^destroy\b/m],
};

describe("completion", () => {
  test("in bash offers the verbs of a noun, and the options of a verb", async () => {
    const text = await script("bash");
    const complete = (...words: string[]): string[] => {
      const last = words.length;
      const asked = `${text}\nCOMP_WORDS=(windlass ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${last}; _windlass; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return execFileSync("bash", ["--norc", "-c", asked], { encoding: "utf8" }).trim().split("\n");
    };
    expect(complete("wo")).toEqual(["workers"]);
    expect(complete("jobs", "d")).toEqual(["deploy", "destroy", "destroy-worker"]);
    expect(complete("--json", "jobs", "plan", "network", "--wa")).toEqual(["--wait"]);
    expect(complete("state", "download", "x", "--js")).toEqual(["--json"]);
    expect(complete("nothing", "zz")).toEqual([""]);
  });

  test.each(["zsh", "fish"].filter(isHere))("is understood by %s", async (shell) => {
    const text = await script(shell);
    const [args, added, offered] = asks[shell]!;
    const said = execFileSync(shell, [...args, "-c", added.replace("SCRIPT", () => text)], {
      encoding: "utf8",
    });
    expect(said).toMatch(offered);
  });

  test("of an unknown shell names those that there are", async () => {
    const { exitCode, stderr } = await windlass(["completion", "tcsh"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("bash, zsh, fish");
  });
});
