/** Options for the fields of a configuration. */
import { Option } from "@commander-js/extra-typings";
import type { NamedSecret } from "../configurations/variables.ts";
import { labels, oneOf, repeated } from "../noun.ts";

const variable = () =>
  repeated(
    "--var <name=value>",
    "a variable; a value that begins with [ or { is JSON; one that is sensitive stays so; repeatable",
  );
/** How many secrets the command line has named so far. */
let secretsNamed = 0;

/** Creates an option that names a secret; its value is read in the order of the command line. */
const secret = <const F extends string>(flags: F, what: string) =>
  new Option(
    flags,
    `${what}: prompted for, or a line of stdin, in the order of these options; repeatable`,
  ).argParser((name: string, before: NamedSecret[] | undefined) => [
    ...(before ?? []),
    { name, place: secretsNamed++ },
  ]);
const sensitive = () => [
  secret("--sensitive <name>", "a secret variable whose value is text"),
  secret(
    "--sensitive-json <name>",
    "a secret variable whose value is JSON, such as an object or a list",
  ),
];
const environment = () => [
  repeated("--env <name=value>", "an environment variable for terraform; repeatable"),
  secret("--sensitive-env <name>", "a secret environment variable"),
];

/** For `variable-sets update`. */
export const unsetOptions = () => [
  repeated(
    "--unset <name>",
    "remove a variable, before --var sets it anew, such as to make it no longer sensitive; repeatable",
  ),
  repeated("--unset-env <name>", "remove an environment variable; repeatable"),
];

/** For `configurations update`. */
export const unsetFieldOptions = () => [
  ...unsetOptions(),
  repeated("--unset-backend-config <name>", "remove a backend setting; repeatable"),
];

/** For `variable-sets create` and `variable-sets update`, in the order of the help. */
export const valueOptions = () => [
  variable(),
  repeated("--var-file <file>", "a .tfvars.json file with variables; repeatable"),
  ...sensitive(),
  ...environment(),
];

/** For `configurations create`, `configurations update` and `up`, in the order of the help. */
export const fieldOptions = () => [
  variable(),
  repeated(
    "--var-file <file>",
    "a .tfvars.json file with variables, or a .tfvars file, which is uploaded, and over which variable sets win; repeatable",
  ),
  ...sensitive(),
  labels(
    'a label the worker must have, unless a job names its worker; repeatable; replaces the earlier labels; "" removes all',
  ),
  ...environment(),
  new Option(
    "--identity <name>",
    'the cloud identity whose role its jobs assume; "none" removes it',
  ),
  oneOf("--engine <name>", "the engine that its jobs run", ["terraform", "opentofu"]),
  new Option(
    "--engine-version <constraint>",
    'version of the engine, such as "~> 1.14"; "" removes it',
  ),
  new Option(
    "--working-directory <path>",
    "the directory of the source in which terraform runs; it reads subdirectories only as modules",
  ),
  repeated(
    "--source-var-file <path>",
    'a .tfvars file in the source; repeatable; replaces the earlier list; "" empties it',
  ),
  oneOf(
    "--backend <kind>",
    "where the state is kept: managed (in the control plane), own (in the backend that the files declare), or auto (own if declared, else managed)",
    ["managed", "own", "auto"],
  ),
  repeated(
    "--backend-config <name=value>",
    "a setting that the declared backend leaves open; repeatable",
  ),
  secret("--sensitive-backend-config <name>", "a secret backend setting"),
  new Option("--parallelism <count>", "resources that terraform handles at once; 10 if never set"),
  new Option("--timeout <seconds>", "stop a job that runs longer than this; 3600 if never set"),
  new Option("--project-name <name>", "a second unique name, by which pipelines find it"),
];

/** For `configurations create` and `configurations update`, for admins. */
export const approvalOptions = () => [
  new Option(
    "--approvals <count>",
    "how many people must approve a deployment before it runs, 1 to 5; 0 removes the rule",
  ),
  oneOf(
    "--approvals-for <deployments>",
    "which deployments: always (all; of a new rule the default), or destructive (those whose plan deletes or replaces something); without a rule, makes one of 1 approval",
    ["always", "destructive"],
  ),
  new Option(
    "--approvals-by-author",
    "let the users approve who created the plan and the deployment",
  ),
  new Option("--no-approvals-by-author", "do not let them approve, which is the default"),
];

/** For every command that queues a job. */
export const debugOption = () =>
  new Option("--debug", "keep terraform's debug log (TF_LOG=DEBUG); it may hold secrets");

/** For the commands that queue a job. */
export const workerOption = () =>
  new Option(
    "--worker <name>",
    "name or id of a worker: only its runner may run the job, whatever its labels",
  );

export const labelOption = () =>
  labels('a label the worker must have, instead of the configuration\'s; repeatable; "" for none');
