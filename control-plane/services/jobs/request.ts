/** What a request for a job describes: its configuration, snapshot, hash and needs. */
import { timeoutSecondsDefault, type ConfigSnapshot } from "../../../protocol/configurations.ts";
import { featuresOf, type RequestFeatures } from "../../../protocol/features.ts";
import type { CreateJob } from "../../../protocol/jobs.ts";
import type { PlanOptions } from "../../../protocol/plan-options.ts";
import {
  configHash,
  seal,
  unseal,
  updatedDefinition,
  type Definition,
} from "../../domain/snapshot.ts";
import type { OwnFiles } from "../../domain/snapshot-values.ts";
import type { SecretBox } from "../../domain/secret-box.ts";
import { withSets } from "../../domain/variable-sets.ts";
import { invalid, notFound } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findSpec, type SpecRow } from "../../store/configurations/configurations.ts";
import { findState } from "../../store/states/states.ts";
import { findOwnWorker, findVisibleWorker } from "../../store/workers/workers.ts";
import { hashKeyOf } from "../configurations/config-hash.ts";
import type { Context } from "../context.ts";
import { checkHash, checkPlan } from "../plans/deployable.ts";
import { openAttachedSets } from "../variable-sets/attached.ts";
import { findTeardown, type TeardownScope } from "../workers/deploy-configurations.ts";
import { markOf, requestedFiles } from "./own-source.ts";
import { requestedOptions } from "./plan-options.ts";

/** The columns of the job that a request describes. */
export interface Resolved {
  readonly spec: SpecRow | null;
  /** The snapshot as it is stored, JSON. */
  readonly sealed: string;
  readonly hash: string;
  /** What its runner must be able to do. */
  readonly features: readonly string[];
  readonly timeoutSeconds: number;
  /** How its plan differs from an ordinary one. */
  readonly options?: PlanOptions | undefined;
  /** Of a DESTROY_WORKER. */
  readonly scope?: TeardownScope;
}

/** Returns what a request describes, or throws why it is refused. */
export async function resolveRequest(
  context: Context,
  tx: Queries,
  owner: string,
  id: string,
  input: CreateJob,
  mode: { readonly isReader?: boolean; readonly resumesTeardown?: boolean } = {},
): Promise<Resolved> {
  const box = context.box("variables");
  const options = await requestedOptions(tx, input);
  const how = {
    key: await hashKeyOf(context, tx, mode),
    debug: input.debug === true,
    plan_options: options !== undefined && input.job_type === "PLAN",
  };
  if (input.job_type === "DESTROY_WORKER") {
    if (input.configuration_id !== undefined)
      throw invalid("body.configuration_id", "comes from the worker's deploy configuration");
    const target = input.assigned_worker_id;
    if (!target) throw invalid("body.assigned_worker_id", "must name the worker to tear down");
    const worker = await tx.first(findOwnWorker, { id: target, owner });
    if (!worker) throw notFound("worker");
    const { spec, snapshot, scope } = await findTeardown(context, tx, worker);
    const plain = snapshot ?? (await snapshotOf(tx, spec!, box));
    const whole = snapshot ?? (await withBackend(tx, spec!, plain));
    const mark = { ...scope, ...(mode.resumesTeardown ? { resumes_teardown: true } : {}) };
    return { ...resolved(spec, plain, seal(whole, box, id), how, mark), scope };
  }
  if (input.configuration_id === undefined) throw invalid("body.configuration_id", "is missing");
  const spec = await tx.first(findSpec, { id: input.configuration_id, owner });
  if (!spec) throw notFound("configuration");
  if (input.assigned_worker_id) await checkAssigned(tx, owner, input.assigned_worker_id);
  const planned = input.plan_job_id ? await checkPlan(tx, owner, input) : undefined;
  const files = await requestedFiles(tx, owner, input);
  const own = await snapshotOf(tx, spec, box);
  const plain = files ? updatedDefinition(own, files) : own;
  const shared = variablesOfSets(spec, own);
  const mark = {
    ...(shared.length > 0 ? { set_variables: shared } : {}),
    ...(files ? markOf(files) : {}),
    ...(options ? { plan_options: options } : {}),
  };
  const whole = await withBackend(tx, spec, plain);
  const request = { ...resolved(spec, plain, seal(whole, box, id), how, mark), options };
  if (planned) checkHash(planned, request.hash);
  return request;
}

/** The hash has no backend that only follows from the state: a plan may be older than that state. */
function resolved(
  spec: SpecRow | null,
  plain: ConfigSnapshot,
  sealed: ConfigSnapshot,
  { key, ...features }: { readonly key: Uint8Array } & RequestFeatures,
  more: object = {},
): Resolved {
  return {
    spec,
    sealed: JSON.stringify({ ...sealed, ...more }),
    hash: configHash(plain, key),
    features: featuresOf(plain, features),
    timeoutSeconds: plain.timeout_seconds ?? timeoutSecondsDefault,
  };
}

/** Hashes that one request has computed, by configuration and files. */
export type KnownHashes = Map<string, Promise<string>>;

/**
 * Returns the hash of a configuration, with these files if it has others. `known`: of a request that
 * asks for many, as a configuration of megabytes takes 25 ms.
 */
export function findHash(
  context: Context,
  tx: Queries,
  spec: SpecRow,
  files: OwnFiles | undefined,
  known: KnownHashes = new Map(),
): Promise<string> {
  const about = JSON.stringify([spec.id, files]);
  const hash = known.get(about) ?? computeHash(context, tx, spec, files);
  known.set(about, hash);
  return hash;
}

async function computeHash(
  context: Context,
  tx: Queries,
  spec: SpecRow,
  files: OwnFiles | undefined,
): Promise<string> {
  const own = await snapshotOf(tx, spec, context.box("variables"));
  const key = await hashKeyOf(context, tx, { isReader: true });
  return configHash(files ? updatedDefinition(own, files) : own, key);
}

/** A configuration with all its values, also those of its variable sets. */
async function snapshotOf(tx: Queries, spec: SpecRow, box: SecretBox): Promise<ConfigSnapshot> {
  const { id, name, project_name } = spec;
  const own = unseal(JSON.parse(spec.definition) as Definition, box, id);
  const { origin: _, ...fields } = withSets(own, await openAttachedSets(tx, spec, box));
  return { name, project_name, ...fields };
}

/** The backend of an existing state stays recorded, even if the files declare a backend later. */
async function withBackend(
  tx: Queries,
  { id }: SpecRow,
  snapshot: ConfigSnapshot,
): Promise<ConfigSnapshot> {
  if (snapshot.backend !== undefined) return snapshot;
  const state = await tx.first(findState, { spec: id });
  return state && state.resource_count !== 0 ? { ...snapshot, backend: "managed" } : snapshot;
}

/** The names of the variables that the configuration does not have itself. */
function variablesOfSets({ definition }: SpecRow, { variables = {} }: ConfigSnapshot): string[] {
  const { variables: own = {} } = JSON.parse(definition) as Definition;
  return Object.keys(variables).filter((name) => !Object.hasOwn(own, name));
}

/** A job may be given to a worker of its owner or to a cloud-hosted one. */
async function checkAssigned(tx: Queries, owner: string, id: string): Promise<void> {
  if (!(await tx.first(findVisibleWorker, { id, owner }))) throw notFound("worker");
}
