/**
 * What workers were deployed with, which is what a DESTROY_WORKER job destroys. Checked when a user
 * sets it, and again when a job uses it: what it names may have been deleted, and older versions
 * did not check it.
 */
import type { ConfigSnapshot } from "../../../protocol/configurations.ts";
import {
  DeployConfiguration,
  deployConfigurationLimit,
} from "../../../protocol/deploy-configurations.ts";
import { UnreadableError } from "../../domain/secret-box.ts";
import {
  definitionOf,
  mask,
  seal,
  unseal,
  unsealReadable,
  updatedDefinition,
} from "../../domain/snapshot.ts";
import type { WorkerRow } from "../../domain/worker.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findSpec, type SpecRow } from "../../store/configurations/configurations.ts";
import { isSourceAvailable } from "../job-changes/own-source.ts";
import type { Context } from "../context.ts";

const field = "body.deploy_configuration";

type Metadata = Record<string, unknown> & { deploy_configuration?: DeployConfiguration };

/** Leaves out sensitive values of the deploy configuration. */
export function shownMetadata(worker: Pick<WorkerRow, "metadata" | "owner_id">): Metadata {
  const metadata = JSON.parse(worker.metadata) as Metadata;
  // A pipeline may write anything about a cloud-hosted worker, because no job uses it.
  if (worker.owner_id === null || metadata.deploy_configuration === undefined) return metadata;
  const { deploy_configuration: known, ...rest } = metadata;
  try {
    const masked = known.snapshot && { snapshot: mask(known.snapshot) };
    return { ...rest, deploy_configuration: { ...known, ...masked } };
  } catch {
    // Another shape: no job can use it and nothing of it can be masked.
    return rest;
  }
}

/**
 * Returns the worker's metadata, in the stored form, with another deploy configuration; null
 * removes it. Throws what is wrong with it.
 */
export async function withDeployConfiguration(
  { box }: Context,
  tx: Queries,
  worker: WorkerRow,
  given: DeployConfiguration | null,
): Promise<string> {
  const { deploy_configuration: before, ...metadata } = JSON.parse(worker.metadata) as Metadata;
  if (given === null) return JSON.stringify(metadata);
  if (Buffer.byteLength(JSON.stringify(given)) > deployConfigurationLimit)
    throw new RefusalError(
      "payload_too_large",
      `the deploy configuration is larger than ${deployConfigurationLimit} bytes`,
    );
  const { configuration_id, snapshot, targets, all } = given;
  if (configuration_id !== undefined && snapshot !== undefined)
    throw invalid(field, "has both a configuration_id and a snapshot: set only one of them");
  if (targets !== undefined && all !== undefined)
    throw invalid(`${field}.all`, "contradicts targets: set only one of them");
  const scope = targets === undefined ? { all: true } : { targets };
  const variables = box("variables");
  if (configuration_id !== undefined) {
    await checkNamed(tx, worker, { configuration_id });
    const deploy_configuration = { configuration_id, ...scope };
    return JSON.stringify({ ...metadata, deploy_configuration });
  }
  if (snapshot === undefined) throw invalid(field, "needs a configuration_id or a snapshot");
  const known = before?.snapshot && unsealReadable(before.snapshot, variables, worker.id);
  const plain = checkedSnapshot(snapshot, known);
  await checkNamed(tx, worker, { snapshot: plain });
  const deploy_configuration = { snapshot: seal(plain, variables, worker.id), ...scope };
  return JSON.stringify({ ...metadata, deploy_configuration });
}

export interface Teardown {
  /** Null: `snapshot` is a configuration of its own with its own backend. */
  readonly spec: SpecRow | null;
  readonly snapshot: ConfigSnapshot | null;
  readonly scope: TeardownScope;
}

export type TeardownScope = { readonly targets: readonly string[] } | { readonly all: true };

const validateStored = validatorOf(DeployConfiguration, "deploy_configuration");

/** Throws `no_deploy_configuration` if the worker has none that can be used. */
export async function findTeardown(
  { box }: Context,
  tx: Queries,
  worker: WorkerRow,
): Promise<Teardown> {
  const { deploy_configuration: stored } = JSON.parse(worker.metadata) as Metadata;
  if (stored === undefined)
    throw new RefusalError(
      "no_deploy_configuration",
      "the worker has no deploy configuration, which says what to destroy: set one first",
    );
  try {
    const { snapshot } = stored;
    const opened = validateStored({
      ...stored,
      ...(snapshot && { snapshot: unseal(snapshot, box("variables"), worker.id) }),
    });
    const { targets, all } = opened;
    const scope = targets === undefined ? all && { all } : { targets };
    if (scope === undefined) throw invalid("deploy_configuration", "needs targets or all");
    const spec = await checkNamed(tx, worker, opened);
    return { spec, snapshot: opened.snapshot ?? null, scope };
  } catch (error) {
    const why =
      error instanceof RefusalError || error instanceof UnreadableError
        ? error.message
        : "it cannot be read";
    throw new RefusalError(
      "no_deploy_configuration",
      `the worker's deploy configuration cannot be used (${why}): set it again`,
    );
  }
}

/** Returns the named configuration, which must belong to the owner, like an archive. */
async function checkNamed(
  tx: Queries,
  { owner_id: owner }: WorkerRow,
  { configuration_id, snapshot }: DeployConfiguration,
): Promise<SpecRow | null> {
  if (owner === null) throw notFound("worker");
  if (configuration_id !== undefined) {
    const spec = await tx.first(findSpec, { id: configuration_id, owner });
    if (!spec) throw notFound("configuration");
    return spec;
  }
  const source = snapshot?.source;
  if (source === undefined) throw invalid(field, "needs a configuration_id or a snapshot");
  if (!(await isSourceAvailable(tx, owner, source)))
    throw invalid(
      `${field}.snapshot.source.sha256`,
      "is not the SHA-256 of one of your archives: upload the archive first",
    );
  return null;
}

/** Adds defaults, and the stored sensitive values that it does not repeat. */
function checkedSnapshot(
  given: ConfigSnapshot,
  before: ConfigSnapshot | undefined,
): ConfigSnapshot {
  if (given.backend === "managed")
    throw invalid(`${field}.snapshot.backend`, 'must be "own": name a configuration instead');
  const { name, project_name, ...definition } = given;
  try {
    const whole = before ? { ...definition, ...kept(before, given) } : definition;
    return {
      ...(name === undefined ? {} : { name }),
      ...(project_name === undefined ? {} : { project_name }),
      ...definitionOf({ ...whole, backend: "own" }),
    };
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    const inside = (text: string) => text.replace(/^body\./, `${field}.snapshot.`);
    const errors = error.more.errors?.map((one) => ({ ...one, path: inside(one.path) }));
    throw new RefusalError(error.code, inside(error.message), errors ? { errors } : {});
  }
}

function kept(
  before: ConfigSnapshot,
  { variables = {}, environment = {}, backend_config = {} }: ConfigSnapshot,
) {
  const whole = updatedDefinition(before, { variables, environment, backend_config });
  return {
    variables: whole.variables ?? {},
    environment: whole.environment ?? {},
    backend_config: whole.backend_config ?? {},
  };
}
