/** `windlass completion`: prints shell completion scripts. */
import { Argument, Command, Option, type CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Kind } from "../completion/script.ts";
import { examples } from "../noun.ts";
import { action, type Run } from "../run.ts";

/** `wholeProgram` is called only to print a script. `roles`: verbs that it does not load. */
export const completionCommand = (
  wholeProgram: () => Promise<CommandUnknownOpts>,
  roles: () => ReadonlyMap<string, readonly string[]>,
) =>
  examples(
    new Command("completion")
      .description("print a script that completes these commands in your shell")
      .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"] as const))
      // For the scripts themselves: the names of one kind.
      .addOption(new Option("--names <kind>").hideHelp())
      .action(async (shell, { names }, command) => {
        if (names !== undefined) {
          const { printNames } = await import("../completion/names.ts");
          return action((run: Run) => printNames(run, names as Kind))(command);
        }
        const { completionScript } = await import("../completion/script.ts");
        process.stdout.write(completionScript(await wholeProgram(), shell, roles()));
      }),
    [
      ["source <(windlass completion bash)", "in ~/.bashrc"],
      ["source <(windlass completion zsh)", "in ~/.zshrc, after compinit"],
      ["windlass completion fish | source", "in ~/.config/fish/config.fish"],
    ],
  );
