/** Configurations. */
import { v7 as uuid, validate } from "uuid";
import type {
  Component,
  Configuration,
  CreateConfiguration,
} from "../../../protocol/configurations.ts";
import type { UserCaller } from "../callers.ts";
import { definitionOf, mask, seal, type Definition } from "../../domain/snapshot.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { findArchive } from "../../store/plans/artifacts.ts";
import { findCloudIdentity } from "../../store/identities/identities.ts";
import type { Queries } from "../../store/db.ts";
import {
  findComponents,
  findSpec,
  findSpecByName,
  findSpecByProjectName,
  findZone,
  insertSpec,
  listSpecIds,
  type SpecRow,
} from "../../store/configurations/configurations.ts";
import { recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { time } from "../jobs/views.ts";
import type { JsonText } from "../json-text.ts";
import { checkConfigurations, countRefusal } from "../storage/quotas.ts";

/** POST /api/cli/configurations. */
export async function createConfiguration(
  context: Context,
  user: UserCaller,
  input: CreateConfiguration,
): Promise<Configuration> {
  const { user_id: owner } = user;
  const id = uuid();
  const at = context.now();
  const definition = seal(definitionOf(input), context.box("variables"), id);
  const spec: SpecRow = {
    id,
    owner_id: owner,
    zone_id: input.zone_id,
    cloud_identity_id: input.cloud_identity_id ?? null,
    name: input.name,
    project_name: input.project_name ?? input.name,
    labels: JSON.stringify(input.labels ?? []),
    definition: JSON.stringify(definition),
    status: "NEW",
    error_message: null,
    cluster_name: null,
    cluster_endpoint: null,
    gitops_url: null,
    created_at: at,
    updated_at: at,
    deleted_owner_id: null,
    deployed_backend: null,
  };
  const created = context.store.write(async (tx) => {
    await checkConfigurations(context, tx, owner);
    await checkReferences(tx, owner, input);
    await refuseIdAsName(tx, owner, spec.name);
    await checkNames(tx, spec);
    await insertSpec(tx, spec);
    const { name } = spec;
    await recordOwn(tx, user, { action: "configuration.create", id, name }, at);
  });
  await countRefusal(context, created);
  return viewSpec(spec, []);
}

/** GET /api/cli/configurations/{name}: by name, or by id. */
export async function getConfiguration(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  name: string,
): Promise<Configuration> {
  return viewFound(read, await findNamed(read, owner, name));
}

/** A configuration by its id or by its name; throws 404. The id goes first: no name hides another configuration. */
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
  { user_id: owner }: UserCaller,
  name: string,
): Promise<Configuration> {
  return viewFound(read, await read.first(findSpecByProjectName, { name, owner }));
}

/** The ids of a page of GET /api/cli/configurations. */
export const listConfigurationIds = (
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<string[]> => listSpecIds(read, owner, before, limit);

/** The JSON of a configuration; nothing if it is gone. */
export async function* writeConfiguration(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  id: string,
): JsonText {
  const spec = await read.first(findSpec, { id, owner });
  if (spec) yield JSON.stringify(await viewFound(read, spec));
}

/** Refuses a zone, an identity or an archive that is not the owner's. */
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
  if (source.type !== "archive") return;
  if (!(await tx.first(findArchive, { owner, sha256: source.sha256 })))
    throw invalid("body.source.sha256", "names no archive of yours: upload it first");
}

/** Refuses a new name that is the id of a configuration: by it, people mean the one that has the id. */
export async function refuseIdAsName(tx: Queries, owner: string, name: string): Promise<void> {
  if (validate(name) && (await tx.first(findSpec, { id: name.toLowerCase(), owner })))
    throw new RefusalError("name_taken", "the name is the id of a configuration");
}

/** Refuses names that another configuration of the owner has. */
export async function checkNames(
  tx: Queries,
  { id, owner_id: owner, name, project_name }: SpecRow,
): Promise<void> {
  const named = await tx.first(findSpecByName, { name, owner });
  if (named && named.id !== id)
    throw new RefusalError("name_taken", `there is a configuration "${name}" already`);
  const project = await tx.first(findSpecByProjectName, { name: project_name, owner });
  if (project && project.id !== id)
    throw new RefusalError(
      "name_taken",
      `there is a configuration with the project name "${project_name}" already`,
    );
}

async function viewFound(queries: Queries, spec: SpecRow | undefined): Promise<Configuration> {
  if (!spec) throw notFound("configuration");
  const components = await queries.all(findComponents, { spec: spec.id });
  return viewSpec(
    spec,
    components.map(({ name, type, value, sensitive }) => ({
      name,
      type: JSON.parse(type) as unknown,
      ...(value === null ? {} : { value: JSON.parse(value) as unknown }),
      sensitive: sensitive === 1,
    })),
  );
}

/** A configuration as people see it. */
export function viewSpec(spec: SpecRow, components: Component[]): Configuration {
  return {
    id: spec.id,
    name: spec.name,
    project_name: spec.project_name,
    zone_id: spec.zone_id,
    cloud_identity_id: spec.cloud_identity_id,
    labels: JSON.parse(spec.labels) as string[],
    ...mask(JSON.parse(spec.definition) as Definition),
    status: spec.status,
    error_message: spec.error_message,
    cluster_name: spec.cluster_name,
    cluster_endpoint: spec.cluster_endpoint,
    gitops_url: spec.gitops_url,
    components,
    created_at: time(spec.created_at),
    updated_at: time(spec.updated_at),
  };
}
