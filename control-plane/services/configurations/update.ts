import type { Configuration, UpdateConfiguration } from "../../../protocol/configurations.ts";
import { approvalWords } from "../../../protocol/words.ts";
import { approvalColumns, approvalRule, differs } from "../../domain/approvals.ts";
import { isPrivileged, type FollowSettings } from "../../domain/follow.ts";
import { notFound } from "../../domain/refusal.ts";
import { checkPermission, includesRole } from "../../domain/roles.ts";
import {
  markSecrets,
  seal,
  unsealReadable,
  updatedDefinition,
  type Definition,
  type ValueMarks,
} from "../../domain/snapshot.ts";
import {
  findSpec,
  findSpecBriefly,
  saveSpec,
  type SpecRow,
} from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { refuseMoving } from "../storage/zone-moves.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import {
  currentDraft,
  lengthOf,
  sealedText,
  shortOf,
  wholeText,
  writingOf,
  type SealedText,
  type Writing,
} from "../definitions.ts";
import { refreshQueue, writeJobs, type AfterCommit } from "../job-changes/changes.ts";
import { inTurn, letOthers, untilUnchanged } from "../large-work.ts";
import { checkedIn } from "../teams/spaces.ts";
import { checkUse } from "../teams/zone-roles.ts";
import {
  checkNames,
  checkReferences,
  findNamed,
  getConfiguration,
  refuseIdAsName,
  viewSpec,
} from "./configurations.ts";
import { findFollow } from "../../store/connections/follows.ts";
import { markOpenPlans } from "../../store/connections/job-changes.ts";
import { findFollowed, type Followed } from "../connections/follow.ts";
import { refuseOpen } from "./delete.ts";
import { applyExpiry } from "./expiry.ts";
import { applyFollow, followChange, type FollowChange } from "./follows.ts";
import { refuseResources } from "./resources.ts";
import { checkSubjects } from "../identities/subjects.ts";

type Asked =
  | UpdateConfiguration
  | ((now: Configuration, marks: ValueMarks) => Omit<UpdateConfiguration, "follow">);

/**
 * PATCH /api/cli/configurations/{name}. Existing jobs keep their snapshot; a plan of another
 * definition than the present one is stale by its hash. A change that depends on the configuration
 * is passed as a function of it, so that no other change comes in between.
 */
export async function updateConfiguration(
  context: Context,
  user: UserCaller,
  name: string,
  asked: Asked,
): Promise<Configuration> {
  const { space_id: owner } = user;
  const { read } = context.store;
  const { id, definition, zone_id } = await findNamed(read, owner, name);
  const { bytes = 0 } = (await read.first(findSpecBriefly, { id, owner })) ?? {};
  const { source, follow } = typeof asked === "function" ? {} : asked;
  const known = source ?? shortOf<Definition>(definition).source;
  const followed =
    follow && known
      ? await findFollowed(
          context,
          user,
          follow,
          known,
          { zone: zone_id, by: id },
          await read.first(findFollow, { spec: id }),
        )
      : undefined;
  const draftFrom = (queries: Queries) => draftOf(context, queries, user, id, asked, followed);
  const update = async () => {
    const draft = await draftFrom(read);
    if (draft)
      await writingOf(context, id, draft.sealed, (writing) =>
        writeJobs(context, async (tx, afterCommit) => {
          const { version } = (await tx.first(findSpec, { id, owner })) ?? {};
          const current = await currentDraft(draft, writing, version, () => draftFrom(tx));
          if (current) await save(context, tx, afterCommit, user, current);
        }),
      );
  };
  await inTurn(owner, lengthOf(bytes, asked), () => untilUnchanged(update));
  return getConfiguration(context, user, id);
}

interface Draft {
  readonly before: SpecRow;
  readonly change: UpdateConfiguration;
  readonly plain: Definition;
  readonly definition: Definition;
  readonly sealed: SealedText;
  readonly follow: FollowChange;
}

/** Opens and seals. Returns undefined if nothing is to be changed. */
async function draftOf(
  { box: boxOf }: Context,
  queries: Queries,
  { space_id: owner }: UserCaller,
  id: string,
  asked: Asked,
  followed: Followed | undefined,
): Promise<Draft | undefined> {
  const box = boxOf("variables");
  const before = await queries.first(findSpec, { id, owner });
  if (!before) throw notFound("configuration");
  const stored = await wholeText(queries, before.definition);
  const { length } = stored;
  const plain = unsealReadable(JSON.parse(stored) as Definition, box, id);
  await letOthers(length);
  const given: UpdateConfiguration =
    typeof asked === "function"
      ? asked(viewSpec(before, stored), markSecrets(plain, box, id))
      : asked;
  if (Object.keys(given).length === 0) return undefined;
  const { follow, source } = await followChange(queries, id, given, plain.source, followed);
  const change = source === undefined ? given : { ...given, source };
  const definition = updatedDefinition(plain, change);
  await letOthers(length);
  const sealed = sealedText(seal(definition, box, id));
  return { before, change, plain, definition, sealed, follow };
}

async function save(
  context: Context,
  tx: Queries,
  afterCommit: AfterCommit,
  user: UserCaller,
  { draft, writing }: { readonly draft: Draft; readonly writing: Writing },
): Promise<void> {
  const {
    before: { id },
    change,
    plain,
    definition,
    follow,
  } = draft;
  const { space_id: owner } = user;
  const before = await tx.first(findSpec, { id, owner });
  if (!before) throw notFound("configuration");
  if (change.name !== undefined && change.name !== before.name)
    await refuseIdAsName(tx, owner, change.name);
  const isMoved = (definition.backend === "own") !== (plain.backend === "own");
  if (isMoved)
    await refuseResources(tx, before, {
      instead:
        ", or take the state along: migrate it into the backend, delete the configuration with the resources kept, and create it again with its own backend (docs/leaving.md)",
    });
  const after: SpecRow = {
    ...before,
    name: change.name ?? before.name,
    project_name: change.project_name ?? before.project_name,
    zone_id: change.zone_id ?? before.zone_id,
    cloud_identity_id:
      change.cloud_identity_id === undefined ? before.cloud_identity_id : change.cloud_identity_id,
    labels: change.labels ? JSON.stringify(change.labels) : before.labels,
    ...writing,
    updated_at: context.now(),
    ...(change.approval === undefined ? {} : approvalColumns(change.approval)),
  };
  const hasOtherRule = differs(before, after);
  if (hasOtherRule) checkPermission(user, "administer");
  await checkReferences(tx, owner, { ...after, source: definition.source });
  const { zone_id, cloud_identity_id: identity } = after;
  const target = { kind: "configurations", id };
  // Once more: the configuration may have got into another zone since the guard has judged.
  const { role } = await checkedIn(context.store, user, target, "configure");
  if (zone_id !== before.zone_id) {
    const there = await checkedIn(context.store, user, { kind: "zones", id: zone_id }, "configure");
    // Else who may only deploy here could delete it there, or leave the approval to others.
    if (before.approval_when !== null || !includesRole(role, there.role))
      checkPermission({ ...user, role }, "administer");
    const followed = await tx.first(findFollow, { spec: id });
    const settings = followed && (JSON.parse(followed.settings) as FollowSettings);
    if (settings && isPrivileged({ ...settings, connection_id: followed.connection_id }))
      checkPermission(there, "administer");
    // A job, its tokens and its approvals belong to the zone in which it was created.
    await refuseOpen(tx, before);
    await refuseMoving(tx, before.zone_id);
  }
  if (identity !== null && (identity !== before.cloud_identity_id || zone_id !== before.zone_id))
    await checkUse(tx, user, { identity }, { zone: zone_id, by: id });
  await checkNames(tx, after);
  await saveSpec(tx, after);
  if (after.cloud_identity_id !== null)
    await checkSubjects(tx, { owner, spec: id }, changedName(before, after));
  if (hasOtherRule) {
    await refreshQueue(tx, afterCommit, after, after.updated_at);
    await markOpenPlans(tx, id, after.updated_at);
  }
  const details = {
    fields: Object.keys(change),
    ...(await applyExpiry(tx, user, before, change.expires_at, after.updated_at)),
    ...(await applyFollow(tx, user, id, follow, after.updated_at)),
    ...(hasOtherRule ? { approval: approvalWords(approvalRule(after)) } : {}),
  };
  const named = { id: after.id, name: after.name, details };
  // Judged above: the rows have the new zone already.
  const { place: _, ...judged } = user;
  await recordOwn(tx, judged, { action: "configuration.update", ...named }, context.now());
}

/** The field that makes the subject of its tokens too long, if one does. */
const changedName = (before: SpecRow, after: SpecRow): string => {
  if (before.cloud_identity_id !== after.cloud_identity_id) return "body.cloud_identity_id";
  return before.zone_id === after.zone_id ? "body.name" : "body.zone_id";
};
