import {
  attachmentsLimit,
  setsBytesLimit,
  setsLimit,
  type UpdateVariableSet,
  type VariableSet,
} from "../../../protocol/variable-sets.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { findSpecBriefly } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import {
  attach,
  attachToAll,
  countOwned,
  detach,
  findAttachments,
  findFullest,
  findLargestTotal,
  measureSetsOf,
  type AttachmentRow,
  type Targets,
  type VariableSetRow,
} from "../../store/variable-sets/variable-sets.ts";
import { findZone } from "../../store/zones/zones.ts";
import { mib } from "../storage/quotas.ts";

export type Target = { readonly zone_id: string } | { readonly configuration_id: string };

/** Returns the target for the audit log; undefined if nothing changes. */
export async function changeAttachment(
  tx: Queries,
  { id, owner_id: owner }: VariableSetRow,
  target: Target,
  isAttached: boolean,
): Promise<Record<string, string> | undefined> {
  const { to, named } = await checkedTarget(tx, owner, target);
  const known = await tx.all(findAttachments, { set: id });
  if (known.some((one) => isSame(one, to)) === isAttached) return undefined;
  if (isAttached) {
    refuseTooMany([...known, to]);
    await attachOne(tx, id, to);
  } else await detach(tx, id, to);
  return named;
}

export async function replaceAttachments(
  tx: Queries,
  { id, owner_id: owner }: VariableSetRow,
  change: UpdateVariableSet,
): Promise<void> {
  for (const targets of targetsOf(change)) {
    if ((await countOwned(tx, owner, targets)) < targets.ids.length)
      throw notFound(targets.column === "zone_id" ? "zone" : "configuration");
    await attachToAll(tx, id, targets);
  }
}

/**
 * Refuses to attach a set with so many bytes to zones and configurations that have too many others.
 * Before the transaction, because it looks at up to 40,000 attachments; where two sets are attached
 * at one moment and are too long together, they are refused when they are opened.
 */
export async function refuseFull(
  read: Queries,
  set: string,
  change: UpdateVariableSet,
  bytes: number,
): Promise<void> {
  for (const targets of targetsOf(change)) {
    const level = targets.column === "zone_id" ? "zone" : "configuration";
    const fullest = await findFullest(read, set, targets);
    if (fullest.count >= setsLimit) throw tooManySets(level);
    refuseTooLong(fullest.bytes + bytes, `the ${level}`);
  }
}

const unique = (ids: readonly string[]): string[] => [
  ...new Set(ids.map((id) => id.toLowerCase())),
];

function targetsOf({ zone_ids, configuration_ids }: UpdateVariableSet): Targets[] {
  return [
    ...(zone_ids ? [{ column: "zone_id", ids: unique(zone_ids) } as const] : []),
    ...(configuration_ids ? [{ column: "spec_id", ids: unique(configuration_ids) } as const] : []),
  ];
}

const isSame = (a: AttachmentRow, b: AttachmentRow): boolean =>
  a.zone_id === b.zone_id && a.spec_id === b.spec_id;

/** Returns it with its name for the audit log. Throws 404 unless it is the owner's. */
async function checkedTarget(
  tx: Queries,
  owner: string,
  target: Target,
): Promise<{ to: AttachmentRow; named: Record<string, string> }> {
  if ("zone_id" in target) {
    const zone = await tx.first(findZone, { id: target.zone_id.toLowerCase(), owner });
    if (!zone) throw notFound("zone");
    const { id: zone_id, name: zone_name } = zone;
    return { to: { zone_id, spec_id: null }, named: { zone_id, zone_name } };
  }
  const spec = await tx.first(findSpecBriefly, {
    id: target.configuration_id.toLowerCase(),
    owner,
  });
  if (!spec) throw notFound("configuration");
  const { id: configuration_id, name: configuration_name } = spec;
  const named = { configuration_id, configuration_name };
  return { to: { zone_id: null, spec_id: spec.id }, named };
}

async function attachOne(tx: Queries, id: string, to: AttachmentRow): Promise<void> {
  await attach(tx, id, to);
  const level = to.zone_id === null ? "configuration" : "zone";
  const { count, bytes } = await measureSetsOf(tx, to);
  if (count > setsLimit) throw tooManySets(level);
  refuseTooLong(bytes, `the ${level}`);
}

const tooManySets = (level: string): RefusalError =>
  new RefusalError(
    "quota_exceeded",
    `${setsLimit} variable sets are already attached to the ${level}, which is the limit`,
  );

function refuseTooMany(attachments: readonly AttachmentRow[]): void {
  const { length: zones } = attachments.filter(({ zone_id }) => zone_id !== null);
  if (Math.max(zones, attachments.length - zones) > attachmentsLimit)
    throw new RefusalError(
      "quota_exceeded",
      `the variable set is already attached to ${attachmentsLimit} of them, which is the limit`,
    );
}

/** Two sets that grow at once may exceed the limit, and are refused where they are opened. */
export async function refuseGrowth(read: Queries, id: string, growth: number): Promise<void> {
  if (growth <= 0) return;
  const total = await read.first(findLargestTotal, { set: id });
  if (total) refuseTooLong(total.bytes + growth, "a zone or configuration of this set");
}

function refuseTooLong(bytes: number, of: string): void {
  if (bytes > setsBytesLimit)
    throw new RefusalError(
      "quota_exceeded",
      `the variable sets that are attached to ${of} would have ${mib(bytes)} of at most ${mib(setsBytesLimit)} together: detach one or remove values`,
    );
}

/** `1 zone and 2 configurations`. */
export function placesOf(attached: readonly AttachmentRow[]): string {
  const zones = attached.filter(({ zone_id }) => zone_id !== null).length;
  return [[zones, "zone"] as const, [attached.length - zones, "configuration"] as const]
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}${count === 1 ? "" : "s"}`)
    .join(" and ");
}

export async function findPlaces(
  queries: Queries,
  set: string,
): Promise<Pick<VariableSet, "zone_ids" | "configuration_ids">> {
  const attachments = await queries.all(findAttachments, { set });
  return {
    zone_ids: attachments.flatMap(({ zone_id }) => zone_id ?? []),
    configuration_ids: attachments.flatMap(({ spec_id }) => spec_id ?? []),
  };
}
