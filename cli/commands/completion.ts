/** `windlass completion`: what lets a shell complete these commands. */
import { Argument, Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { examples } from "../noun.ts";

/** The command with its help. `wholeProgram` loads every command, so it is called only when this one runs. */
export const completionCommand = (wholeProgram: () => Promise<CommandUnknownOpts>) =>
  examples(
    new Command("completion")
      .description("print what lets a shell complete these commands")
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
