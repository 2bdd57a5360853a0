import { v7 as uuid, validate } from "uuid";
import type {
  Component,
  Configuration,
  CreateConfiguration,
} from "../../../protocol/configurations.ts";
import type { DriftStatus } from "../../../protocol/drift.ts";
import { approvalColumns, approvalRule } from "../../domain/approvals.ts";
import { unchecked, viewDrift } from "../../domain/drift.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { checkPermission } from "../../domain/roles.ts";
import {
  definitionOf,
  markSecrets,
  mask,
  seal,
  unsealReadable,
  type Definition,
  type ValueMarks,
} from "../../domain/snapshot.ts";
import {
  findComponents,
  findSpec,
  findSpecByName,
  findSpecByProjectName,
  insertSpec,
  listSpecIds,
  listSpecNames,
  type SpecName,
  type SpecRow,
} from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { listSpecIdsByDrift } from "../../store/configurations/drift.ts";
import { findCloudIdentity } from "../../store/identities/identities.ts";
import { isLimited } from "../../store/spaces.ts";
import { findZone } from "../../store/zones/zones.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { findFollowed } from "../connections/follow.ts";
import { applyExpiry } from "./expiry.ts";
import { applyFollow, onBranch, viewFollow } from "./follows.ts";
import { time, timeOrNull } from "../../domain/moments.ts";
import { reading, sealedText, wholeText, writingOf, type Writing } from "../definitions.ts";
import { inTurn, untilUnchanged } from "../large-work.ts";
import type { JsonText } from "../json-text.ts";
import { isSourceAvailable } from "../job-changes/own-source.ts";
import { findDeployed, findStateBackend } from "../job-changes/deployed.ts";
import { findFailedJob, shownError } from "./failed-job.ts";
import { checkCount, countRefusal } from "../storage/quotas.ts";
import { checkUse } from "../teams/zone-roles.ts";
import { findAttachedSets } from "../variable-sets/attached.ts";
import { checkSubjects } from "../identities/subjects.ts";

export async function createConfiguration(
  context: Context,
  user: UserCaller,
  { follow, ...given }: CreateConfiguration,
): Promise<Configuration> {
  const { space_id: owner } = user;
  const id = uuid();
  const followed = follow
    ? await findFollowed(context, user, follow, given.source, { zone: given.zone_id })
    : undefined;
  const input = followed ? { ...given, source: onBranch(given.source, followed) } : given;
  const at = context.now();
  const sealed = sealedText(seal(definitionOf(input), context.box("variables"), id));
  const written = ({ definition, definition_id }: Writing): SpecRow => ({
    id,
    owner_id: owner,
    zone_id: input.zone_id,
    cloud_identity_id: input.cloud_identity_id ?? null,
    name: input.name,
    project_name: input.project_name ?? input.name,
    labels: JSON.stringify(input.labels ?? []),
    definition,
    definition_id,
    status: "NEW",
    error_message: null,
    cluster_name: null,
    cluster_endpoint: null,
    gitops_url: null,
    created_at: at,
    updated_at: at,
    deleted_owner_id: null,
    deployed_backend: null,
    failed_job_id: null,
    failed_checks: null,
    outputs_omitted: 0,
    version: 0,
    ...unchecked,
    expires_at: null,
    ...approvalColumns(input.approval ?? null),
  });
  if (input.approval) checkPermission(user, "administer");
  const add = (writing: Writing) =>
    context.store.write(async (tx) => {
      const spec = written(writing);
      await checkCount(context, tx, owner, "configurations");
      await checkReferences(tx, owner, input);
      const { zone_id: zone, cloud_identity_id: identity } = input;
      if (identity) await checkUse(tx, user, { identity }, { zone });
      await refuseIdAsName(tx, owner, spec.name);
      await checkNames(tx, spec);
      await insertSpec(tx, spec);
      if (spec.cloud_identity_id !== null)
        await checkSubjects(tx, { owner, spec: id }, "body.cloud_identity_id");
      const details = {
        ...(await applyFollow(tx, user, id, followed, at)),
        ...(await applyExpiry(tx, user, spec, given.expires_at, at)),
      };
      const created = { action: "configuration.create", id, name: spec.name, details } as const;
      await recordOwn(tx, user, created, at);
      return spec;
    });
  const created = inTurn(owner, sealed.text.length, () => writingOf(context, id, sealed, add));
  const spec = await countRefusal(context, created);
  const variable_sets = await findAttachedSets(context.store.read, spec);
  const viewed = viewSpec(spec, sealed.text);
  const shown = {
    expires_at: given.expires_at ?? null,
    follow: await viewFollow(context.store.read, spec, viewed),
    variable_sets,
  };
  return { ...viewed, state_backend: viewed.backend ?? null, failed_job: null, ...shown };
}

/** GET /api/cli/configurations/{name}: by name, or by id. */
export async function getConfiguration(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  name: string,
): Promise<Configuration> {
  return untilUnchanged(async () => viewFound(read, await findNamed(read, owner, name)));
}

/** The marks of its sensitive values; throws 404. */
export async function readValueMarks(
  { store: { read }, box }: Context,
  { space_id: owner }: UserCaller,
  name: string,
): Promise<ValueMarks> {
  const key = box("variables");
  return untilUnchanged(async () => {
    const { id, definition } = await findNamed(read, owner, name);
    const opened = JSON.parse(await wholeText(read, definition)) as Definition;
    return markSecrets(unsealReadable(opened, key, id), key, id);
  });
}

/** Throws 404. The id comes first, so that no name hides another configuration. */
export async function findNamed(queries: Queries, owner: string, name: string): Promise<SpecRow> {
  const byId = validate(name)
    ? await queries.first(findSpec, { id: name.toLowerCase(), owner })
    : undefined;
  const spec = byId ?? (await queries.first(findSpecByName, { name, owner }));
  if (!spec) throw notFound("configuration");
  return spec;
}

/** GET /api/cli/configurations/by-project-name/{project_name}. */
export async function getConfigurationByProjectName(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  name: string,
): Promise<Configuration> {
  return untilUnchanged(async () =>
    viewFound(read, await read.first(findSpecByProjectName, { name, owner })),
  );
}

export const listConfigurationIds = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  drift: DriftStatus | undefined,
  before: string | undefined,
  limit: number,
): Promise<string[]> =>
  drift === undefined
    ? listSpecIds(read, owner, before, limit)
    : listSpecIdsByDrift(read, owner, drift, before, limit);

export async function* writeConfiguration(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): JsonText {
  const viewed = await untilUnchanged(async () => {
    const spec = await read.first(findSpec, { id, owner });
    return spec && viewFound(read, spec);
  });
  if (viewed) yield JSON.stringify(viewed);
}

export const listConfigurationNames = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<SpecName[]> => listSpecNames(read, owner, { limit });

export async function findConfigurationName(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<SpecName | undefined> {
  return (await listSpecNames(read, owner, { id, limit: 1 }))[0];
}

export async function checkReferences(
  tx: Queries,
  owner: string,
  {
    zone_id,
    cloud_identity_id,
    source,
  }: Pick<CreateConfiguration, "zone_id" | "cloud_identity_id" | "source">,
): Promise<void> {
  if (!(await tx.first(findZone, { id: zone_id, owner }))) throw notFound("zone");
  if (cloud_identity_id && !(await tx.first(findCloudIdentity, { id: cloud_identity_id, owner })))
    throw notFound("cloud identity");
  if (!(await isSourceAvailable(tx, owner, source)))
    throw invalid(
      "body.source.sha256",
      "is not the SHA-256 of one of your archives: upload the archive first",
    );
}

/** A name that is the id of a configuration would make that id ambiguous. */
export async function refuseIdAsName(tx: Queries, owner: string, name: string): Promise<void> {
  if (validate(name) && (await tx.first(findSpec, { id: name.toLowerCase(), owner })))
    throw new RefusalError("name_taken", "the name is the id of a configuration");
}

export async function checkNames(
  tx: Queries,
  { id, owner_id: owner, name, project_name }: SpecRow,
): Promise<void> {
  const named = await tx.first(findSpecByName, { name, owner });
  if (named && named.id !== id) {
    // Someone with roles in zones only may not see the other one's zone.
    const zone = isLimited(owner)
      ? undefined
      : await tx.first(findZone, { id: named.zone_id, owner });
    throw new RefusalError(
      "name_taken",
      `the configuration "${name}" already exists${zone ? `, in the zone "${zone.name}"` : ""}. Choose another name`,
    );
  }
  const project = await tx.first(findSpecByProjectName, { name: project_name, owner });
  if (project && project.id !== id)
    throw new RefusalError(
      "name_taken",
      `a configuration with the project name "${project_name}" already exists`,
    );
}

async function viewFound(queries: Queries, spec: SpecRow | undefined): Promise<Configuration> {
  if (!spec) throw notFound("configuration");
  const rows = await queries.all(findComponents, { spec: spec.id });
  const components = rows.map(({ name, type, value, sensitive, omitted_bytes }) => ({
    name,
    type: JSON.parse(type) as unknown,
    ...(value === null ? {} : { value: JSON.parse(value) as unknown }),
    sensitive: sensitive === 1,
    ...(omitted_bytes === null ? {} : { omitted_bytes }),
  }));
  const deployed = await findDeployed(queries, spec);
  const variable_sets = await findAttachedSets(queries, spec);
  const failed_job = await findFailedJob(queries, spec);
  const viewed = await reading(spec.owner_id, spec.definition, async () =>
    viewSpec(spec, await wholeText(queries, spec.definition), components, deployed),
  );
  const state_backend = await findStateBackend(queries, spec, viewed.backend);
  const follow = await viewFollow(queries, spec, viewed);
  const { cloud_identity_id: id, owner_id: owner } = spec;
  const identity =
    id !== null && isLimited(owner)
      ? await queries.first(findCloudIdentity, { id, owner })
      : undefined;
  return {
    ...viewed,
    ...(identity ? { cloud_identity_name: identity.name } : {}),
    state_backend,
    failed_job,
    follow,
    variable_sets,
  };
}

export function viewSpec(
  spec: SpecRow,
  definition: string,
  components: Component[] = [],
  deployed: Configuration["deployed"] = null,
): Configuration {
  return {
    id: spec.id,
    name: spec.name,
    project_name: spec.project_name,
    zone_id: spec.zone_id,
    cloud_identity_id: spec.cloud_identity_id,
    labels: JSON.parse(spec.labels) as string[],
    ...mask(JSON.parse(definition) as Definition),
    status: spec.status,
    error_message: shownError(spec),
    deployed,
    approval: approvalRule(spec),
    expires_at: timeOrNull(spec.expires_at),
    cluster_name: spec.cluster_name,
    cluster_endpoint: spec.cluster_endpoint,
    gitops_url: spec.gitops_url,
    components,
    drift: viewDrift(spec),
    ...(spec.outputs_omitted > 0 ? { outputs_omitted: spec.outputs_omitted } : {}),
    created_at: time(spec.created_at),
    updated_at: time(spec.updated_at),
  };
}
