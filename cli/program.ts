/** The command line as a whole: every command with its help. What a command does is loaded when it runs. */
import { Command } from "@commander-js/extra-typings";
import { demoCommand } from "./commands/demo.ts";
import { version } from "../version.ts";

/** Builds the parser. Errors are thrown as CommanderError, so that `main` maps them to exit codes. */
export function buildProgram(): Command {
  const program = new Command("windlass")
    .description(
      "Runs Terraform and OpenTofu for teams: a control plane, runners in your own network, a client.",
    )
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .showHelpAfterError("Run windlass --help to see what there is.")
    .exitOverride()
    .addHelpText("after", examples);
  program.addCommand(demoCommand().copyInheritedSettings(program));
  for (const [name, description] of roles) {
    program.addCommand(new Command(name).description(description).copyInheritedSettings(program));
  }
  return program;
}

/** main.ts at the root starts these two before the client is loaded; here they are listed. */
const roles = [
  ["server", "run the control plane; settings come from the environment"],
  ["agent", "run a runner daemon; settings come from the environment"],
] as const;

const examples = `
Examples:
  windlass demo             see a plan and a deployment run on this machine, in ten seconds
  windlass server           run the control plane on http://127.0.0.1:8080
  windlass server login-link --email you@example.com
                            print a link that signs you in once
`;
