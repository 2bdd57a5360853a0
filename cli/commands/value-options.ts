/** Options for the values of a configuration and the workers that may run it. */
import { Option } from "@commander-js/extra-typings";
import { repeated } from "../noun.ts";

/** In the order of the help. `cli/configurations/variables.ts` reads those for variables. */
export const valueOptions = () => [
  repeated("--var <name=value>", "a variable; a value that begins with [ or { is JSON; repeatable"),
  repeated("--var-file <file>", "a .tfvars.json file with variables; repeatable"),
  repeated("--sensitive <name>", "a secret variable: prompted for, or a line of stdin; repeatable"),
  repeated("--label <label>", 'a label the worker must have; repeatable; "" removes all'),
];

/** Builds the `--backend` option. */
export const backendOption = () =>
  new Option(
    "--backend <kind>",
    "where the state is kept: managed (in the control plane), own (in the backend that the files declare), or auto (own if declared, else managed)",
  ).choices(["managed", "own", "auto"]);

/** Of every command that queues a job. */
export const debugOption = () =>
  new Option("--debug", "keep terraform's debug log (TF_LOG=DEBUG); it may hold secrets");
