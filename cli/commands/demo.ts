/** `windlass demo`: runs the whole product on this machine and cleans up afterwards. */
import { Command } from "@commander-js/extra-typings";

export const demoCommand = () =>
  new Command("demo")
    .description("run a control plane, a runner and a deployment on this machine, then clean up")
    .option("--keep", "keep the control plane and the runner running until Ctrl-C")
    .addHelpText("after", examples)
    .action(async ({ keep }) => {
      const { runDemo } = await import("../demo/run-demo.ts");
      process.exitCode = await runDemo({ keep: keep === true });
    });

const examples = `
The demo starts a control plane on a free port of the loopback address and a
runner, both in a temporary directory. It plans and deploys
samples/hello-cluster with real terraform, shows the live log, and removes
everything at the end. No cloud account is needed.

Examples:
  windlass demo          run the demo, in about ten seconds
  windlass demo --keep   keep everything until Ctrl-C, to look around
`;
