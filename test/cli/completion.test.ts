/** Completion in the shells themselves, where they are installed. */
import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { windlass } from "../helpers/windlass.ts";

/** In CI every shell has to be there. */
const isHere = (shell: string): boolean =>
  process.env["CI"] === "true" || spawnSync(shell, ["-c", "exit"]).status === 0;
const script = async (shell: string): Promise<string> =>
  (await windlass(["completion", shell])).stdout as string;

describe("completion", () => {
  test.runIf(isHere("bash"))(
    "in bash offers the verbs of a noun, and the options of a verb",
    async () => {
      const text = await script("bash");
      const complete = (...words: string[]): string[] => {
        const last = words.length;
        const asked = `${text}\nCOMP_WORDS=(windlass ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${last}; _windlass; printf '%s\\n' "\${COMPREPLY[@]}"`;
        return execFileSync("bash", ["--norc", "-c", asked], { encoding: "utf8" })
          .trim()
          .split("\n");
      };
      expect(complete("wo")).toEqual(["workers"]);
      expect(complete("jobs", "d")).toEqual(["deploy", "destroy", "destroy-worker"]);
      expect(complete("--json", "jobs", "plan", "network", "--wa")).toEqual(["--wait"]);
      expect(complete("state", "download", "x", "--js")).toEqual(["--json"]);
      expect(complete("nothing", "zz")).toEqual([""]);
    },
  );

  test.runIf(isHere("zsh"))("in zsh is read without an error", async () => {
    const text = `autoload -U compinit && compinit -u -D\n${await script("zsh")}\nprint $_comps[windlass]`;
    expect(execFileSync("zsh", ["-f", "-c", text], { encoding: "utf8" })).toContain(
      "_bash_complete",
    );
  });

  test.runIf(isHere("fish"))("in fish offers the verbs of a noun", async () => {
    const text = `${await script("fish")}\ncomplete -C 'windlass jobs d'`;
    const offered = execFileSync("fish", ["--no-config", "-c", text], { encoding: "utf8" });
    expect(offered).toMatch(/^deploy\b[\s\S]*^destroy\b/m);
  });

  test("of an unknown shell names those that there are", async () => {
    const { exitCode, stderr } = await windlass(["completion", "tcsh"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("bash, zsh, fish");
  });
});
