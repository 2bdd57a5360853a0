/** The steps that run terraform after init: plan, apply and reading the results. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { countLines } from "./count-lines.ts";
import {
  known,
  OutcomeUnknownError,
  StepFailedError,
  type JobContext,
  type Step,
} from "../context.ts";
import type { Facts } from "../facts.ts";
import { JournalError } from "../journal.ts";
import type { UnknownValues } from "../../../protocol/made-known.ts";
import { enterApply } from "../credentials/credentials.ts";
import { mentions } from "../mentions.ts";
import { failureOf, ofWithheld } from "./diagnostics.ts";
import { appliesWithVariables } from "../plan/ephemeral.ts";
import { packPlan } from "../plan/artifact.ts";
import type { DigestRequest, PlanFacts } from "../plan/json.ts";
import { lockFile } from "../source/source.ts";
import { sourceDigest } from "../source/source-digest.ts";
import { readKnownApart, readOutputsApart, readPlanApart } from "../plan/read-apart.ts";
import { checkSecretsKnown, conceal, secretsOf } from "../secrets.ts";
import { hasRun, runTerraform } from "./terraform.ts";
import { checkVarFiles, parallelismOf, planOptionsOf, varFilesOf } from "../plan/arguments.ts";
import { ofSets, removeVariables, variablesOf, writeVariables } from "../plan/variables.ts";
import { rescueState, resultLimit } from "./rescue.ts";
import { lockLeft } from "./state-lock.ts";
import { outputsInState, type Outputs } from "../../../common/outputs.ts";
import { secrecyOf, type Secrecy } from "../../../common/redaction/secrecy.ts";
import { mebibyte } from "../../../common/units.ts";

/** A larger state takes terraform long enough that starting it makes no difference. */
const smallState = mebibyte;

/** Plans into a file. Does nothing in a DEPLOY that has downloaded a plan. */
export const plan = (destroy?: "destroy"): Step => ({
  name: "plan",
  command: (context) => planCommand(context, destroy),
  async run(context) {
    const args = planCommand(context, destroy);
    if (!args) return {};
    checkVarFiles(context);
    // Terraform warns of an undeclared value at every plan, and a set is for those configurations that
    // declare its variables. A value of the configuration itself stays: it may be misspelt.
    // Not again while a terraform that outlived its agent may be reading it.
    if (variablesOf(context) && !hasRun(context, "plan")) writeVariables(context, ofSets(context));
    await concealFormer(context);
    const end = await runTerraform(context, "plan", args, {
      logged: true,
      patience: context.settings.patience.plan,
    });
    // The plan contains them.
    removeVariables(context);
    if (end.code !== 0 && end.code !== 2)
      throw ofWithheld(await failureOf("plan", end), context.claim.job.withheld);
    return { changes: end.code === 2 };
  },
});

/** Terraform prints the old value of a sensitive output unmarked, which is often still valid. */
async function concealFormer(context: JobContext): Promise<void> {
  if (hasRun(context, "plan")) return;
  const former = await managedOutputs(context, () => false);
  if (former && former.secrets.length > 0) conceal(context, former.secrets);
}

function planCommand(context: JobContext, destroy?: "destroy"): string[] | undefined {
  if (context.facts.manifest) return undefined;
  const { plan, variables } = context.workspace;
  const targets = destroy ? (context.claim.job.targets ?? []) : [];
  return [
    "plan",
    "-input=false",
    "-lock-timeout=60s",
    "-detailed-exitcode",
    `-out=${plan}`,
    ...parallelismOf(context),
    ...varFilesOf(context),
    ...(variablesOf(context) ? [`-var-file=${variables}`] : []),
    ...(destroy ? ["-destroy"] : []),
    ...targets.map((address) => `-target=${address}`),
    ...planOptionsOf(context),
  ];
}

const showCommand = ({ workspace }: JobContext): string[] => ["show", "-json", workspace.plan];
const applyCommand = (context: JobContext, variables: readonly string[] = []): string[] => [
  "apply",
  "-input=false",
  "-lock-timeout=60s",
  ...parallelismOf(context),
  ...variables,
  context.workspace.plan,
];
const outputCommand = (): string[] => ["output", "-json"];
const stateCommand = (): string[] => ["show", "-json"];

/**
 * A plan that failed, or that a size limit cut short, can leave a file and exit with 0
 * (docs/decisions.md, "Plans that failed").
 */
export const checkPlan: Step = {
  name: "show",
  command: showCommand,
  async run(context) {
    const { workspace } = context;
    const [{ errored, summary, directories }] = await Promise.all([
      showPlan(context, [], digestRequest(context)),
      packPlan(context),
    ]);
    if (errored) throw new StepFailedError("show: terraform marks the plan as failed");
    const source_digest =
      directories && sourceDigest(context, join(workspace.packed, lockFile), directories);
    // OpenTofu does not say it, and the changes of such a plan are only in its drift.
    const { refresh_only } = context.claim.job.plan_options ?? {};
    const applyable = refresh_only ? known(context, "changes") : summary.applyable;
    return { summary: { ...summary, applyable, ...(source_digest && { source_digest }) } };
  },
};

function digestRequest(context: JobContext): DigestRequest | undefined {
  const { claim, workspace } = context;
  const { plan_digest_key: key } = claim.job;
  if (key === undefined) return undefined;
  const folder = relative(realpathSync(workspace.source), known(context, "folder")) || ".";
  return { key: Buffer.from(key, "hex"), workspace: realpathSync(workspace.root), folder };
}

/** With a misspelt target, terraform plans nothing and exits with 0: no success for a teardown. */
export const checkTeardown: Step = {
  name: "show",
  command: showCommand,
  async run(context) {
    const { targets = [], resumes_teardown: resumes = false } = context.claim.job;
    const { errored, summary, unmatched } = await showPlan(context, targets);
    if (errored) throw new StepFailedError("show: terraform marks the plan as failed");
    const { counts } = summary;
    if (resumes && unmatched.length > 0)
      // All of them matched before the earlier attempt began to destroy.
      context.log.system(
        `An earlier attempt of this job has destroyed all of ${unmatched.join(", ")}.`,
      );
    else if (counts.delete + counts.replace === 0) {
      const resources = await countResources(context);
      if (resources > 0)
        throw new StepFailedError(
          `plan: nothing would be destroyed, but the state has ${resources} resources. ` +
            `Check the targets of the deploy configuration (${targets.join(", ") || "none"})`,
        );
    } else if (unmatched.length > 0)
      throw new StepFailedError(
        `plan: nothing would be destroyed for ${unmatched.join(", ")}, so nothing was destroyed at all. ` +
          "Check the targets of the deploy configuration: correct them, or leave out those of which nothing is there",
      );
    return { summary };
  },
};

export const apply: Step = {
  name: "apply",
  command: (context) => applyCommand(context),
  async run(context) {
    await enterApply(context);
    const options = { logged: true, patience: context.settings.patience.apply, changes: true };
    const variables = ephemeralArguments(context);
    try {
      const command = applyCommand(context, variables);
      const end = await runTerraform(context, "apply", command, options);
      removeVariables(context);
      if (end.code === 0) return {};
      throw await failureOf("apply", end);
    } catch (error) {
      // It ended without an exit code, and may have left its state in the workspace too.
      if (!(error instanceof StepFailedError)) throw error;
      const { note, isStateUnsaved } = await rescueState(context);
      const failed = `${error.message}${note}`;
      const { failure } = error;
      if (!(error instanceof OutcomeUnknownError))
        throw new StepFailedError(failed, { isStateUnsaved, failure });
      const text = `${failed}; ${await lockLeft(context)}`;
      throw new OutcomeUnknownError(text, { isStateUnsaved });
    }
  },
};

/** Those of plan that the files can declare: a plan lacks some values, which apply gets again. */
function ephemeralArguments(context: JobContext): string[] {
  if (!appliesWithVariables(context)) return [];
  const given = variablesOf(context);
  if (!given) return varFilesOf(context);
  // Not again while a terraform that outlived its agent may be reading it.
  if (!hasRun(context, "apply")) writeVariables(context, Object.keys(given));
  return [...varFilesOf(context), `-var-file=${context.workspace.variables}`];
}

/** The outcome is already decided, so outputs that cannot be read do not fail the job. */
export const readOutputs: Step = {
  name: "output",
  command: ({ facts }) => (facts.backend === "managed" ? undefined : outputCommand()),
  always: true,
  async run(context) {
    try {
      // A former agent has left that to terraform.
      checkSecretsKnown(context);
      const found = hasRun(context, "output")
        ? undefined
        : await managedOutputs(context, secrecyOf(secretsOf(context)).hides);
      if (found) return reported(context, found);
      const end = await runTerraform(context, "output", outputCommand(), {
        logged: false,
        patience: context.settings.patience.init,
        limit: resultLimit(context),
      });
      if (end.code !== 0) throw await failureOf("output", end);
      return reported(context, await readOutputsApart(end.stdout, secretsOf(context)));
    } catch (error) {
      if (error instanceof JournalError) throw error;
      context.log.system(`The outputs could not be read: ${(error as Error).message}`);
      return {};
    }
  },
};

/**
 * What the plan did not know and how checks ended, for people who may not read the state. It decides
 * nothing either.
 */
export const readValues: Step = {
  name: "values",
  command: (context) => (unknownOf(context) ? stateCommand() : undefined),
  always: true,
  async run(context) {
    const unknown = unknownOf(context);
    if (!unknown) return {};
    try {
      checkSecretsKnown(context);
      const end = await runTerraform(context, "values", stateCommand(), {
        logged: false,
        patience: context.settings.patience.init,
        limit: resultLimit(context),
      });
      if (end.code !== 0) throw await failureOf("values", end);
      const made_known = await readKnownApart(end.stdout, secretsOf(context), unknown);
      return { metadata: { ...context.facts.metadata, made_known } };
    } catch (error) {
      if (error instanceof JournalError) throw error;
      context.log.system(
        `The values that the plan did not know could not be read: ${(error as Error).message}`,
      );
      return {};
    }
  },
};

/** Without a plan of the server, only checks, which modules may have too. */
function unknownOf({ claim, facts, workspace }: JobContext): UnknownValues | undefined {
  if (facts.manifest) return claim.job.unknown_values;
  const { folder } = facts;
  const mayHaveChecks =
    folder !== undefined && mentions(workspace.root, folder, ["check", "module"]);
  return mayHaveChecks ? { resources: [], checks: [] } : undefined;
}

/** From the managed state, as `terraform output` does in 40 ms more. Undefined if it must. */
async function managedOutputs(
  { claim, facts, api }: JobContext,
  hides: Secrecy["hides"],
): Promise<Outputs | undefined> {
  const { spec_id: id, job_token: token } = claim.job;
  if (facts.backend !== "managed" || !id || !token) return undefined;
  const state = await api.readState(id, token, smallState);
  return state ? outputsInState(state, hides) : undefined;
}

function reported(context: JobContext, { metadata, secrets }: Outputs): Pick<Facts, "metadata"> {
  conceal(context, secrets);
  return { metadata };
}

async function showPlan(
  context: JobContext,
  targets: readonly string[] = [],
  request?: DigestRequest,
): Promise<PlanFacts> {
  const { stop, settings } = context;
  checkSecretsKnown(context);
  const end = await runTerraform(context, "show", showCommand(context), {
    logged: false,
    patience: settings.patience.plan,
  });
  if (end.code !== 0) throw await failureOf("show", end);
  return readPlanApart(end.stdout, secretsOf(context), stop, targets, request);
}

async function countResources(context: JobContext): Promise<number> {
  const end = await runTerraform(context, "state", ["state", "list"], {
    logged: false,
    patience: context.settings.patience.init,
    suffix: "-list",
  });
  if (end.code === 0) return countLines(end.stdout);
  const failure = await failureOf("state", end);
  if (!(await isWithoutState(context))) throw failure;
  const { name } = context.claim.job.config_snapshot;
  throw new StepFailedError(
    `plan: the deploy configuration${name === undefined ? "" : ` "${name}"`} has no state: nothing was ever deployed with it, so there is nothing to destroy. ` +
      "Choose another one: windlass workers update NAME --deploy-configuration CONFIGURATION; " +
      "or, if the worker was deployed with none, remove it alone: windlass workers delete NAME",
  );
}

/**
 * Without any state, `state list` fails, but `state pull` prints nothing, or with a remote backend
 * a state without a lineage, which was never written.
 */
async function isWithoutState(context: JobContext): Promise<boolean> {
  const { code, stdout } = await runTerraform(context, "state", ["state", "pull"], {
    logged: false,
    patience: context.settings.patience.init,
    suffix: "-pull",
  });
  if (code !== 0) return false;
  const { size } = statSync(stdout);
  // The state of real resources may be larger than the agent's memory.
  return size === 0 || (size < 10_000 && isNeverWritten(readFileSync(stdout, "utf8")));
}

function isNeverWritten(state: string): boolean {
  try {
    const { lineage } = JSON.parse(state) as { lineage?: unknown };
    return lineage === "";
  } catch {
    return false;
  }
}
