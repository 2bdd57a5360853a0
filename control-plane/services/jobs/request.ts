/** What a request for a job describes: its configuration, snapshot, hash and needs. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ConfigSnapshot } from "../../../protocol/configurations.ts";
import { featuresOf, withIdentity, type RequestFeatures } from "../../../protocol/features.ts";
import type { CreateJob } from "../../../protocol/jobs.ts";
import { timeoutSecondsDefault } from "../../../protocol/limits.ts";
import type { PlanOptions } from "../../../protocol/plan-options.ts";
import {
  configHash,
  seal,
  unseal,
  updatedDefinition,
  type Definition,
} from "../../domain/snapshot.ts";
import { asDeployed, type Deployment } from "../../domain/deployed-snapshot.ts";
import type { OwnFiles } from "../../domain/snapshot-values.ts";
import type { SecretBox } from "../../domain/secret-box.ts";
import { withoutWithheld } from "../../domain/follow.ts";
import { withSets } from "../../domain/variable-sets.ts";
import { invalid, notFound } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import {
  findSpec,
  findSpecBriefly,
  type SpecRow,
} from "../../store/configurations/configurations.ts";
import { findFollow } from "../../store/connections/follows.ts";
import { findPlanRole } from "../../store/identities/identities.ts";
import { findState } from "../../store/states/states.ts";
import type { AttachedRow } from "../../store/variable-sets/variable-sets.ts";
import { findOwnWorker, findVisibleWorker } from "../../store/workers/workers.ts";
import { hashKeyOf } from "../configurations/config-hash.ts";
import type { Context } from "../context.ts";
import { checkHash, checkPlan } from "../plans/deployable.ts";
import { idIn, sealedText, wholeText, type SealedText } from "../definitions.ts";
import { Drafts, inTurn, largeBytes } from "../large-work.ts";
import { lengthOf, measureAttachedSets, openAttachedSets } from "../variable-sets/attached.ts";
import { findTeardown, type TeardownScope } from "../workers/deploy-configurations.ts";
import { requestedDeployment } from "../job-changes/deployed-source.ts";
import { ownSourceMarks, requestedFiles } from "../job-changes/own-source.ts";
import type { JobOrigin } from "./creator.ts";
import { requestedOptions } from "./plan-options.ts";

/** The part of a request that takes long to make, so it is made before the transaction. */
interface Draft {
  readonly sealed: SealedText;
  readonly hash: string;
  /** What its runner must be able to do. */
  readonly features: readonly string[];
  readonly timeoutSeconds: number;
  /** The names of the values that it does not get. */
  readonly withheld: readonly string[];
  /** The hash of everything but the source, with all values; "" unless it is for a connection. */
  readonly settingsHash: string;
}

/** The columns of the job that a request describes. */
export interface Resolved extends Draft {
  readonly spec: SpecRow | null;
  /** The cloud identity with which it runs. */
  readonly identity: string | null;
  readonly options?: PlanOptions | undefined;
  /** Only for a DESTROY_WORKER. */
  readonly scope?: TeardownScope;
}

interface ResolveMode {
  /** Outside of a transaction: nothing can be stored. */
  readonly isReader?: boolean;
  readonly resumesTeardown?: boolean;
  /** Of a job for a connection. */
  readonly origin?: Pick<JobOrigin, "values" | "isPullRequest"> | undefined;
  readonly drafts?: Drafts;
}

/** What every draft of a request is made with. `id`: the job, for which its values are sealed. */
interface DraftParts {
  readonly id: string;
  readonly box: SecretBox;
  readonly drafts: Drafts;
  readonly hashing: { readonly key: Uint8Array } & RequestFeatures;
}

export async function resolveRequest(
  context: Context,
  tx: Queries,
  owner: string,
  id: string,
  input: CreateJob,
  mode: ResolveMode,
): Promise<Resolved> {
  const { drafts = new Drafts() } = mode;
  // A plan keeps its options and files.
  const options = await drafts.of(["options"], () => requestedOptions(tx, input));
  const { exclude = [] } = input;
  const hashing = {
    key: await hashKeyOf(context, tx, mode),
    debug: input.debug === true,
    exclude: exclude.length > 0,
    plan_options: options !== undefined && input.job_type === "PLAN",
  };
  const parts = { id, box: context.box("variables"), drafts, hashing };
  if (input.job_type === "DESTROY_WORKER")
    return resolveTeardown(context, tx, owner, input, mode, parts);
  if (input.configuration_id === undefined) throw invalid("body.configuration_id", "is missing");
  const spec = await tx.first(findSpec, { id: input.configuration_id, owner });
  if (!spec) throw notFound("configuration");
  if (input.assigned_worker_id) await checkAssigned(tx, owner, input.assigned_worker_id);
  const planned = input.plan_job_id ? await checkPlan(context, tx, owner, input, spec) : undefined;
  const files = await requestedFiles(tx, owner, input, drafts);
  const deployment = await requestedDeployment(tx, input, spec, parts);
  const { values = "all", isPullRequest = false } = mode.origin ?? {};
  const isFollowing = (await tx.first(findFollow, { spec: spec.id })) !== undefined;
  const ownSource = files?.source ?? deployment?.snapshot.source;
  const isGit = ownSource === undefined || ownSource.type === "git";
  const asked = {
    ...parts.hashing,
    source_access: isFollowing && isGit,
    merge: isPullRequest,
    plan_digest: (isFollowing || mode.origin !== undefined) && input.job_type === "PLAN",
  };
  const other = { files, deployment };
  const asking = { ...parts, hashing: asked };
  const draft = await draftOfSpec(tx, spec, asking, deployment?.id, ({ whole, shared }) => {
    const { definition: given, names: withheld } = withoutWithheld(whole, values);
    if (exclude.length > 0 && whole.engine !== "opentofu")
      throw invalid(
        "body.exclude",
        "needs OpenTofu, and the engine of the configuration is terraform",
      );
    return {
      plain: withSource(given, other),
      withheld,
      // Only the change of a job has it, and one of megabytes takes 25 ms.
      settingsHash: mode.origin ? settingsHash(whole, parts.hashing.key) : "",
      more: {
        ...(shared.length > 0
          ? { set_variables: shared.filter((one) => !withheld.includes(one)) }
          : {}),
        ...(files ? ownSourceMarks(files) : {}),
        ...(deployment ? { deployed_of: deployment.id } : {}),
        ...(options ? { plan_options: options } : {}),
      },
    };
  });
  if (planned) checkHash(planned, draft.hash);
  return { spec, ...draft, ...(await identityFor(tx, spec, draft, values)), options };
}

/**
 * The identity, and the features with the one that it needs. A PLAN that lacks values may at most
 * read: it needs the role of PLANs.
 */
async function identityFor(
  tx: Queries,
  spec: SpecRow | null,
  { features }: Draft,
  values: JobOrigin["values"] = "all",
): Promise<Pick<Resolved, "identity" | "features">> {
  const id = spec?.cloud_identity_id ?? null;
  const found = id === null ? undefined : await tx.first(findPlanRole, { id });
  if (!found || (values !== "all" && !found.plan_role_arn)) return { identity: null, features };
  return { identity: id, features: withIdentity(features, found.provider) };
}

async function resolveTeardown(
  context: Context,
  tx: Queries,
  owner: string,
  input: CreateJob,
  { resumesTeardown }: ResolveMode,
  parts: DraftParts,
): Promise<Resolved> {
  if (input.configuration_id !== undefined)
    throw invalid("body.configuration_id", "comes from the worker's deploy configuration");
  const target = input.assigned_worker_id;
  if (!target) throw invalid("body.assigned_worker_id", "must name the worker to tear down");
  const worker = await tx.first(findOwnWorker, { id: target, owner });
  if (!worker) throw notFound("worker");
  const { spec, snapshot, scope } = await findTeardown(context, tx, worker);
  const more = { ...scope, ...(resumesTeardown ? { resumes_teardown: true } : {}) };
  const draft =
    spec === null
      ? await draftOf(snapshot!, snapshot!, parts, more)
      : await draftOfSpec(tx, spec, parts, undefined, ({ whole }) => ({ plain: whole, more }));
  return { spec, ...draft, ...(await identityFor(tx, spec, draft)), scope };
}

/** Makes the draft of a configuration. `fill` returns the snapshot, and what is stored with it. */
async function draftOfSpec(
  tx: Queries,
  spec: SpecRow,
  parts: DraftParts,
  deployment: string | undefined,
  fill: (found: Snapshot) => Partial<Pick<Draft, "withheld" | "settingsHash">> & {
    readonly plain: ConfigSnapshot;
    readonly more: object;
  },
): Promise<Draft> {
  const sets = await measureAttachedSets(tx, spec);
  const isManaged = await hasManagedState(tx, spec);
  return parts.drafts.of([...madeOf(spec, sets), isManaged, deployment], async () => {
    const { plain, more, ...own } = fill(await snapshotOf(tx, spec, sets, parts.box));
    const draft = await draftOf(plain, withBackend(plain, isManaged), parts, more);
    return { ...draft, ...own };
  });
}

/** Returns how long the definitions are that a request opens. */
export async function measureRequest(
  read: Queries,
  owner: string,
  { configuration_id: id = "" }: Pick<CreateJob, "configuration_id">,
): Promise<number> {
  const spec = await read.first(findSpecBriefly, { id, owner });
  return spec ? spec.bytes + lengthOf(await measureAttachedSets(read, spec)) : 0;
}

/** What a snapshot of a configuration is made of. */
const madeOf = ({ id, version }: SpecRow, sets: readonly AttachedRow[]): unknown[] => [
  id,
  version,
  sets.map((set) => [set.id, set.version]),
];

/** Changes whenever what a snapshot is made of does. */
export const versionsOf = async (queries: Queries, spec: SpecRow): Promise<string> =>
  JSON.stringify(madeOf(spec, await measureAttachedSets(queries, spec)));

/**
 * `plain` is hashed and `stored` is sealed: a backend that only follows from the state is not hashed,
 * because a plan may be older than that state.
 */
async function draftOf(
  plain: ConfigSnapshot,
  stored: ConfigSnapshot,
  { id, box, hashing: { key, ...features } }: DraftParts,
  more: object,
): Promise<Draft> {
  const sealed = seal(stored, box, id);
  // Each takes up to 60 ms with megabytes.
  await nextTurn();
  const hash = configHash(plain, key);
  await nextTurn();
  return {
    sealed: sealedText({ ...sealed, ...more }),
    hash,
    features: featuresOf(plain, features),
    timeoutSeconds: plain.timeout_seconds ?? timeoutSecondsDefault,
    withheld: [],
    settingsHash: "",
  };
}

const settingsHash = (whole: ConfigSnapshot, key: Uint8Array): string =>
  configHash({ ...whole, source: { type: "inline", files: {} } }, key);

/**
 * Returns the hash of a configuration, with another source in place of its own. `known`: the hashes that the
 * request or transaction has already made; one of a configuration of megabytes takes 25 ms.
 */
export async function findHash(
  context: Context,
  queries: Queries,
  spec: SpecRow,
  other: OtherSource,
  known: Drafts,
): Promise<string> {
  const sets = await measureAttachedSets(queries, spec);
  const bytes = 1 + lengthOf(sets) + (idIn(spec.definition) === undefined ? 0 : largeBytes);
  const hash = async () => {
    const { whole } = await snapshotOf(queries, spec, sets, context.box("variables"));
    const key = await hashKeyOf(context, queries, { isReader: true });
    await nextTurn();
    return configHash(withSource(whole, other), key);
  };
  return known.of([...madeOf(spec, sets), other.files, other.deployment?.id], () =>
    inTurn(spec.owner_id, bytes, hash, Infinity),
  );
}

/** What a job runs in place of the configuration's own source. */
export interface OtherSource {
  readonly files: OwnFiles | undefined;
  readonly deployment: Deployment | undefined;
}

function withSource(whole: ConfigSnapshot, { files, deployment }: OtherSource): ConfigSnapshot {
  if (deployment) return asDeployed(whole, deployment);
  return files ? updatedDefinition(whole, files) : whole;
}

interface Snapshot {
  /** The configuration with all its values, also those of its variable sets. */
  readonly whole: ConfigSnapshot;
  /** The names of the variables that come from variable sets. */
  readonly shared: string[];
}

async function snapshotOf(
  queries: Queries,
  spec: SpecRow,
  sets: readonly AttachedRow[],
  box: SecretBox,
): Promise<Snapshot> {
  const { id, name, project_name } = spec;
  const own = unseal(JSON.parse(await wholeText(queries, spec.definition)) as Definition, box, id);
  const { origin: _, ...fields } = withSets(own, await openAttachedSets(queries, sets, box));
  const { variables = {} } = own;
  const shared = Object.keys(fields.variables ?? {}).filter(
    (one) => !Object.hasOwn(variables, one),
  );
  return { whole: { name, project_name, ...fields }, shared };
}

/** The backend of an existing state stays recorded, even if the files declare a backend later. */
const withBackend = (snapshot: ConfigSnapshot, isManaged: boolean): ConfigSnapshot =>
  snapshot.backend === undefined && isManaged ? { ...snapshot, backend: "managed" } : snapshot;

async function hasManagedState(tx: Queries, { id }: SpecRow): Promise<boolean> {
  const state = await tx.first(findState, { spec: id });
  return state !== undefined && state.resource_count !== 0;
}

/** A job may be given to a worker of its owner or to a cloud-hosted one. */
async function checkAssigned(tx: Queries, owner: string, id: string): Promise<void> {
  if (!(await tx.first(findVisibleWorker, { id, owner }))) throw notFound("worker");
}
