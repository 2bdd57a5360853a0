import { randomUUID } from "node:crypto";
import { v7 as uuid } from "uuid";
import type {
  CloudIdentity,
  CreateCloudIdentity,
  TrustPolicy,
  UpdateCloudIdentity,
} from "../../../protocol/cloud-identities.ts";
import { isIssued } from "../../../protocol/identity-kinds.ts";
import { namesInShort, namesShown } from "../../../protocol/words.ts";
import type { UserCaller } from "../callers.ts";
import {
  audienceOf,
  columnsOf,
  shownFieldsOf,
  subjectFormOf,
} from "../../domain/cloud-identity.ts";
import { openJobText } from "../../domain/open-job.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import {
  deleteCloudIdentity as deleteRow,
  findCloudIdentity,
  findCloudIdentityByName,
  findJobOfIdentity,
  insertCloudIdentity,
  listCloudIdentities as listRows,
  listSeenIdentities,
  saveCloudIdentity,
  type CloudIdentityRow,
} from "../../store/identities/identities.ts";
import { subjectOf, type SubjectNames } from "../../domain/token-subject.ts";
import { trustTerraform } from "../../domain/trust-terraform.ts";
import { listSubjects } from "../../store/identities/subjects.ts";
import type { Queries } from "../../store/db.ts";
import { isLimited } from "../../store/spaces.ts";
import { findTeam } from "../../store/teams/teams.ts";
import { countUsersOfIdentity, listUsersOfIdentity } from "../../store/configurations/summaries.ts";
import { recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { time } from "../../domain/moments.ts";
import { makeFirstKey } from "../issuer/keys.ts";
import { checkCount, countRefusal } from "../storage/quotas.ts";
import { checkSubjects } from "./subjects.ts";

/** Never takes the external id from a user, who could then assume another owner's role. */
export async function createCloudIdentity(
  context: Context,
  user: UserCaller,
  { name, provider, ...fields }: CreateCloudIdentity,
): Promise<CloudIdentity> {
  const at = context.now();
  const { space_id: owner_id } = user;
  const row: CloudIdentityRow = {
    id: uuid(),
    owner_id,
    name,
    provider,
    ...columnsOf(provider, fields),
    external_id: randomUUID(),
    created_at: at,
    updated_at: at,
  };
  const created = context.store.write(async (tx) => {
    await checkName(tx, owner_id, row.name);
    await checkCount(context, tx, owner_id, "identities");
    await insertCloudIdentity(tx, row);
    await recordOwn(tx, user, { action: "cloud_identity.create", id: row.id, name: row.name }, at);
  });
  await countRefusal(context, created);
  if (isIssued(provider)) await makeFirstKey(context);
  return view(row);
}

/** Returns the newest configurations that use an identity of the user. */
export async function listUsers(
  context: Context,
  user: UserCaller,
  id: string,
  limit: number,
): Promise<{ id: string; name: string }[]> {
  await getCloudIdentity(context, user, id);
  return listUsersOfIdentity(context.store.read, id.toLowerCase(), limit);
}

/** The names of those that a form of a configuration offers. */
export const listIdentityNames = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<Pick<CloudIdentityRow, "id" | "name">[]> =>
  isLimited(owner)
    ? listSeenIdentities(read, owner, limit)
    : listRows(read, owner, undefined, limit);

export async function listCloudIdentities(
  { store }: Context,
  { space_id }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<CloudIdentity[]> {
  return (await listRows(store.read, space_id, before, limit)).map(view);
}

export async function getCloudIdentity(
  { store }: Context,
  user: UserCaller,
  id: string,
): Promise<CloudIdentity> {
  return view(await find(store.read, user, id));
}

/** The external id does not change, because trust policies require it; nor does the provider. */
export async function updateCloudIdentity(
  { store, now }: Context,
  user: UserCaller,
  id: string,
  { name, ...given }: UpdateCloudIdentity,
): Promise<CloudIdentity> {
  return store.write(async (tx) => {
    const before = await find(tx, user, id);
    const columns = columnsOf(before.provider, given, before);
    // A queued PLAN of a pull request would assume the other role.
    if (columns.plan_role_arn === null && before.plan_role_arn !== null)
      await refuseOpen(tx, user, before);
    const after = { ...before, name: name ?? before.name, ...columns, updated_at: now() };
    if (after.name !== before.name) await checkName(tx, user.space_id, after.name);
    await saveCloudIdentity(tx, after);
    const field = after.name === before.name ? "body.subject" : "body.name";
    await checkSubjects(tx, { owner: user.space_id, identity: after.id }, field);
    const changed = { ...(name === undefined ? {} : { name }), ...given };
    const fields = Object.entries(changed).flatMap(([one, value]) =>
      value === undefined ? [] : [one],
    );
    const target = { id: after.id, name: after.name, details: { fields } };
    const entry = { action: "cloud_identity.update", ...target } as const;
    await recordOwn(tx, user, entry, now());
    return view(after);
  });
}

/** Refused while a configuration, or a queued or running job, uses it. */
export async function deleteCloudIdentity(
  { store, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  await store.write(async (tx) => {
    const row = await find(tx, user, id);
    const { id: identity, name } = row;
    await refuseUsed(tx, user, row);
    await deleteRow(tx, identity);
    await recordOwn(tx, user, { action: "cloud_identity.delete", id: identity, name }, now());
  });
}

async function refuseUsed(tx: Queries, user: UserCaller, row: CloudIdentityRow): Promise<void> {
  const { id: identity, name } = row;
  const users = await listUsersOfIdentity(tx, identity, namesShown);
  if (users.length > 0) {
    const total = await countUsersOfIdentity(tx, identity);
    throw new RefusalError(
      "cloud_identity_in_use",
      `the cloud identity "${name}" is used by the ${total === 1 ? "configuration" : "configurations"} ${namesInShort(users, total)}: choose another one, or none, there first`,
    );
  }
  await refuseOpen(tx, user, row);
}

async function refuseOpen(
  tx: Queries,
  { space_id: owner }: UserCaller,
  { id: identity, name }: CloudIdentityRow,
): Promise<void> {
  const job = await tx.first(findJobOfIdentity, { identity, owner });
  if (job)
    throw new RefusalError(
      "cloud_identity_in_use",
      `a job uses the cloud identity "${name}": ${openJobText(job)}`,
    );
}

/** Lets `principal` assume the role only with the external id. */
export async function trustPolicy(
  { store }: Context,
  user: UserCaller,
  id: string,
  principal: string,
): Promise<TrustPolicy> {
  const { provider, external_id } = await find(store.read, user, id);
  if (provider !== "aws")
    throw invalid(
      "params.id",
      "is not of the provider aws: for the others, read the terraform of the identity",
    );
  return {
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { AWS: principal },
        Action: "sts:AssumeRole",
        Condition: { StringEquals: { "sts:ExternalId": external_id } },
      },
      // For session tags. AWS checks this without the external id; alone it allows nothing.
      { Effect: "Allow", Principal: { AWS: principal }, Action: "sts:TagSession" },
    ],
  };
}

/** How many configurations the terraform names. */
export const trustedLimit = 1000;

/** The terraform with which a cloud or Vault trusts the tokens of the identity. */
export async function trustTerraformOf(
  { store: { read }, issuerUrl }: Context,
  user: UserCaller,
  id: string,
): Promise<string> {
  const row = await find(read, user, id);
  const { name, provider, owner_id, settings } = row;
  if (!isIssued(provider))
    throw invalid("params.id", "is of the provider aws, which gets no tokens of this server");
  const form = subjectFormOf(settings);
  const subjectsOf = (of: SubjectNames) => ({
    plan: subjectOf(of, form, "plan"),
    apply: subjectOf(of, form, "apply"),
  });
  const found = await listSubjects(read, { owner: owner_id, identity: row.id }, trustedLimit + 1);
  const trusted = found.slice(0, trustedLimit).map((one) => ({
    configuration_id: one.configuration_id,
    zone_id: one.zone_id,
    subjects: subjectsOf(one),
  }));
  // Without configurations too: it names none of them.
  const team = (await read.first(findTeam, { id: owner_id }))?.slug ?? null;
  const names = { team, owner_id, identity: name, zone: "", configuration: "" };
  const own = form === "identity" ? subjectsOf(names) : null;
  return trustTerraform({
    id: row.id,
    name,
    provider,
    space_id: owner_id,
    issuer: issuerUrl(),
    audience: audienceOf(row) ?? "",
    subject: form,
    own,
    fields: shownFieldsOf(row),
    trusted,
    isCut: found.length > trustedLimit,
  });
}

async function find(queries: Queries, { space_id: owner }: UserCaller, id: string) {
  const row = await queries.first(findCloudIdentity, { id, owner });
  if (!row) throw notFound("cloud identity");
  return row;
}

async function checkName(tx: Queries, owner: string, name: string): Promise<void> {
  if (await tx.first(findCloudIdentityByName, { name, owner }))
    throw new RefusalError("name_taken", `the cloud identity "${name}" already exists`);
}

const view = (row: CloudIdentityRow): CloudIdentity => ({
  id: row.id,
  name: row.name,
  provider: row.provider,
  ...shownFieldsOf(row),
  ...(row.provider === "aws" ? { external_id: row.external_id } : {}),
  created_at: time(row.created_at),
  updated_at: time(row.updated_at),
});
