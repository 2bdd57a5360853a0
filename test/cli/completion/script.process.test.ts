/** Completion with the Tab key in real shells, where they are installed. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scratch, until } from "../../helpers/agent-process.ts";
import { root } from "../../helpers/source-files.ts";
import { openProgram } from "../../helpers/terminal.ts";
import { lackOfProgram } from "../../helpers/tools.ts";
import { windlass } from "../../helpers/windlass.ts";

/** How each shell is started without its start files, and how it loads the completions. */
const shells: Readonly<Record<string, readonly [start: string[], load: string]>> = {
  bash: [["bash", "--norc"], "source <(windlass completion bash)"],
  zsh: [["zsh", "-f"], "autoload -U compinit && compinit -u -D; source <(windlass completion zsh)"],
  fish: [["fish", "--no-config"], "windlass completion fish | source"],
};

describe.concurrent("completion", () => {
  test.for(Object.keys(shells))(
    "in %s completes verbs, options and file names",
    async (shell, context) => {
      const lack = lackOfProgram(shell);
      if (lack !== undefined) return context.skip(lack);
      const [start, load] = shells[shell]!;
      using home = scratch();
      const env = {
        PATH: `${join(root, "bin")}:${process.env["PATH"]}`,
        HOME: home.path,
        PS1: "$ ",
      };
      await using terminal = openProgram(start, env, root);
      /** Types the start of a line and Tab, waits for the completion, and clears the line. */
      const completes = async (typed: string, to: string): Promise<void> => {
        const before = terminal.raw().length;
        terminal.type(`${typed}\t`);
        await until(() => terminal.raw().slice(before).includes(to));
        // Ctrl-U clears the line.
        terminal.type("\u0015");
      };
      await until(() => terminal.raw() !== "");
      terminal.type(`${load}; echo read''y\r`);
      await terminal.shows("ready");
      await completes("windlass work", "ers");
      await completes("windlass jobs canc", "el");
      await completes("windlass --json jobs plan network --wa", "it");
      await completes("windlass state download x --js", "on");
      await completes("windlass up samp", "les");
      expect(terminal.screen()).not.toMatch(/unrecognized|not found|error/i);
    },
  );

  test("for an unknown shell ends with 2 and lists the supported shells", async () => {
    const { exitCode, stderr } = await windlass(["completion", "tcsh"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("bash, zsh, fish");
  });
});
