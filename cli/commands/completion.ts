/** `windlass completion`: prints shell completion scripts. */
import { Argument, Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { examples } from "../noun.ts";

/**
 * Builds the command; `wholeProgram` loads every command, and is called only when this one runs.
 */
export const completionCommand = (wholeProgram: () => Promise<CommandUnknownOpts>) =>
  examples(
    new Command("completion")
      .description("print a script that completes these commands in your shell")
      .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"] as const))
      .action(async (shell) => {
        const { completionScript } = await import("../completion/script.ts");
        process.stdout.write(completionScript(await wholeProgram(), shell));
      }),
    [
      ["source <(windlass completion bash)", "in ~/.bashrc"],
      ["source <(windlass completion zsh)", "in ~/.zshrc, after compinit"],
      ["windlass completion fish | source", "in ~/.config/fish/config.fish"],
    ],
  );
