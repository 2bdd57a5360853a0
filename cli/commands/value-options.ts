/** The options of every command that says with which values, and on which workers, a configuration is deployed. */
import { Option } from "@commander-js/extra-typings";
import { repeated } from "../noun.ts";

/** In the order of the help; what they mean for the variables: `cli/configurations/variables.ts`. */
export const valueOptions = () => [
  repeated("--var <name=value>", "a variable; [ or { begins JSON; again for more"),
  repeated("--var-file <file>", "variables of a .tfvars.json file; again for more"),
  repeated(
    "--sensitive <name>",
    "a secret variable: asked for, or a line of stdin; again for more",
  ),
  repeated("--label <label>", "a worker must have it; again for more"),
];

/** Where the state is kept. */
export const backendOption = () =>
  new Option(
    "--backend <kind>",
    "managed: the state is kept here; own: in the backend that the files declare; auto: there, or here if they declare none",
  ).choices(["managed", "own", "auto"]);

/** Of every command that queues a job. */
export const debugOption = () =>
  new Option("--debug", "keep terraform's debug log (TF_LOG=DEBUG); it may hold secrets");
