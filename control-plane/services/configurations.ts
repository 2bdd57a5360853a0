/** Zones and configurations. */
import { v7 as uuid } from "uuid";
import type {
  Component,
  Configuration,
  CreateConfiguration,
  CreateZone,
  Zone,
} from "../../protocol/configurations.ts";
import type { UserCaller } from "../auth/callers.ts";
import { definitionOf, mask, seal, type Definition } from "../domain/snapshot.ts";
import { invalid, notFound, Refusal } from "../problem.ts";
import { findArchive } from "../store/artifacts.ts";
import { findCloudIdentity } from "../store/cloud-identities.ts";
import type { Queries } from "../store/db.ts";
import {
  componentsOf,
  findSpec,
  findSpecByName,
  findSpecByProjectName,
  findZone,
  findZoneByName,
  insertSpec,
  insertZone,
  listSpecs,
  listZones as listZoneRows,
  specsOfZones,
  type SpecRow,
  type ZoneRow,
} from "../store/specs.ts";
import { recordOwn } from "./audit.ts";
import type { Context } from "./context.ts";
import { time } from "./job-views.ts";

/** POST /api/cli/zones. */
export async function createZone(
  { store, now }: Context,
  user: UserCaller,
  { name }: CreateZone,
): Promise<Zone> {
  const at = now();
  const { user_id: owner } = user;
  const zone: ZoneRow = { id: uuid(), owner_id: owner, name, created_at: at, updated_at: at };
  await store.write(async (tx) => {
    if (await tx.first(findZoneByName, { name, owner }))
      throw new Refusal("name_taken", `there is a zone "${name}" already`);
    await insertZone(tx, zone);
    await recordOwn(tx, user, { action: "zone.create", id: zone.id, name }, at);
  });
  return viewZone(zone, []);
}

/** GET /api/cli/zones/{id}. */
export async function getZone(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  id: string,
): Promise<Zone> {
  const zone = await read.first(findZone, { id, owner });
  if (!zone) throw notFound("zone");
  return viewZone(zone, await viewSpecs(read, await specsOfZones(read, [id])));
}

/** A page of GET /api/cli/zones. */
export async function listZones(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<Zone[]> {
  const zones = await listZoneRows(read, owner, before, limit);
  const specs = await viewSpecs(
    read,
    await specsOfZones(
      read,
      zones.map(({ id }) => id),
    ),
  );
  const byZone = Map.groupBy(specs, ({ zone_id }) => zone_id);
  return zones.map((zone) => viewZone(zone, byZone.get(zone.id) ?? []));
}

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
    cloud_identity_id: input.cloud_identity_id?.toLowerCase() ?? null,
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
  };
  await context.store.write(async (tx) => {
    await checkReferences(tx, owner, input);
    await checkNames(tx, spec);
    await insertSpec(tx, spec);
    const { name } = spec;
    await recordOwn(tx, user, { action: "configuration.create", id, name }, at);
  });
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

/** A configuration by its name, or by its id; throws 404. */
export async function findNamed(queries: Queries, owner: string, name: string): Promise<SpecRow> {
  const spec =
    (await queries.first(findSpecByName, { name, owner })) ??
    (await queries.first(findSpec, { id: name.toLowerCase(), owner }));
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

/** A page of GET /api/cli/configurations. */
export async function listConfigurations(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<Configuration[]> {
  return viewSpecs(read, await listSpecs(read, owner, before, limit));
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
  if (
    cloud_identity_id &&
    !(await tx.first(findCloudIdentity, { id: cloud_identity_id.toLowerCase(), owner }))
  )
    throw notFound("cloud identity");
  if (source.type !== "archive") return;
  if (!(await tx.first(findArchive, { owner, sha256: source.sha256 })))
    throw invalid("body.source.sha256", "names no archive of yours: upload it first");
}

/** Refuses names that another configuration of the owner has. */
export async function checkNames(
  tx: Queries,
  { id, owner_id: owner, name, project_name }: SpecRow,
): Promise<void> {
  const named = await tx.first(findSpecByName, { name, owner });
  if (named && named.id !== id)
    throw new Refusal("name_taken", `there is a configuration "${name}" already`);
  const project = await tx.first(findSpecByProjectName, { name: project_name, owner });
  if (project && project.id !== id)
    throw new Refusal(
      "name_taken",
      `there is a configuration with the project name "${project_name}" already`,
    );
}

async function viewFound(queries: Queries, spec: SpecRow | undefined): Promise<Configuration> {
  const [view] = await viewSpecs(queries, spec ? [spec] : []);
  if (!view) throw notFound("configuration");
  return view;
}

async function viewSpecs(queries: Queries, specs: readonly SpecRow[]): Promise<Configuration[]> {
  const rows = await componentsOf(
    queries,
    specs.map(({ id }) => id),
  );
  const components = Map.groupBy(rows, ({ spec_id }) => spec_id);
  return specs.map((spec) =>
    viewSpec(
      spec,
      (components.get(spec.id) ?? []).map(({ name, type, value, sensitive }) => ({
        name,
        type: JSON.parse(type) as unknown,
        ...(value === null ? {} : { value: JSON.parse(value) as unknown }),
        sensitive: sensitive === 1,
      })),
    ),
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

const viewZone = ({ id, name, created_at, updated_at }: ZoneRow, specs: Configuration[]): Zone => ({
  id,
  name,
  specs,
  created_at: time(created_at),
  updated_at: time(updated_at),
});
