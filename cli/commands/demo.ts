/** `windlass demo`: the product at work on this machine, and nothing left of it afterwards. */
import { Command } from "@commander-js/extra-typings";

/** The command with its help; the demo itself is loaded when it runs. */
export const demoCommand = () =>
  new Command("demo")
    .description("run a control plane, a runner and a deployment on this machine, then clean up")
    .option("--keep", "leave control plane and runner running until Ctrl-C, to look around")
    .addHelpText("after", examples)
    .action(async ({ keep }) => {
      const { runDemo } = await import("../demo/run-demo.ts");
      process.exitCode = await runDemo({ keep: keep === true });
    });

const examples = `
It starts a control plane on a free port of the loopback address and a runner
beside it, both in a temporary directory, plans and deploys
samples/hello-cluster with real terraform, and shows the log as it happens.
No cloud account is needed, and nothing stays behind.

Examples:
  windlass demo          everything, in about ten seconds
  windlass demo --keep   the same, then waits for you to look around
`;
