/** `windlass dev`: a control plane and a runner on this machine. */
import { Command } from "@commander-js/extra-typings";
import { examples } from "../noun.ts";

export const devCommand = () =>
  examples(
    new Command("dev")
      .description("run a control plane and a runner on this machine until Ctrl-C")
      .option("--data-dir <directory>", "where both keep their data", ".windlass/dev")
      .option("--temporary", "use a temporary directory, and remove it at the end")
      .option("--email <address>", "the person who signs in", "you@example.com")
      .addHelpText("after", details)
      .action(async (options) => {
        const { runDev } = await import("../demo/run-dev.ts");
        process.exitCode = await runDev(options);
      }),
    [
      ["windlass dev", "continue with the data of the last time"],
      ["windlass dev --temporary", "start anew, and keep nothing"],
      ["WINDLASS_PORT=8081 windlass dev", "listen on another port"],
    ],
  );

const details = `
Both listen only to this machine and get the settings of the environment, such
as the credentials of a cloud. The runner takes the jobs of the person for whom
it was registered, at the first start.`;
