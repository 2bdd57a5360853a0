/** `windlass completion`: what lets a shell complete these commands. */
import { Argument, Command } from "@commander-js/extra-typings";
import { examples } from "../noun.ts";

/** The command with its help; the whole parser is loaded when it runs. */
export const completionCommand = () =>
  examples(
    new Command("completion")
      .description("print what lets a shell complete these commands")
      .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"] as const))
      .action(async (shell) => {
        const [{ completionScript }, { wholeProgram }] = await Promise.all([
          import("../completion/script.ts"),
          import("../program.ts"),
        ]);
        process.stdout.write(completionScript(await wholeProgram(), shell));
      }),
    [
      ["source <(windlass completion bash)", "in ~/.bashrc"],
      ["source <(windlass completion zsh)", "in ~/.zshrc, after compinit"],
      ["windlass completion fish | source", "in ~/.config/fish/config.fish"],
    ],
  );
