import { randomBytes } from "node:crypto";
import { v7 as uuid } from "uuid";
import {
  stalledMinutes,
  type CreateNotification,
  type Notification,
  type NotificationKind,
  type UpdateNotification,
} from "../../../protocol/notifications.ts";
import { time } from "../../domain/moments.ts";
import { checkRoom, invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import { UnreadableError } from "../../domain/secret-box.ts";
import { mayDo } from "../../domain/roles.ts";
import { DestinationError } from "../../outbound/destinations.ts";
import type { Queries } from "../../store/db.ts";
import {
  findLastDelivery,
  giveUpRule,
  listAddresses,
} from "../../store/notifications/deliveries.ts";
import {
  deleteRule as deleteRow,
  findRule,
  findRuleByName,
  insertRule,
  listRules as listRows,
  updateRule as updateRow,
  type RuleRow,
} from "../../store/notifications/rules.ts";
import { asSystem } from "../../store/spaces.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import {
  openSecrets,
  sealRotated,
  sealSecrets,
  type SealedSecrets,
} from "../connections/secrets.ts";
import type { Context } from "../context.ts";
import { checkPlace } from "../zones/places.ts";
import { viewDelivery } from "./views.ts";

/** How many rules a space may have: each event is compared with all of them. */
export const rulesLimit = 50;

/** Why nothing waits for a rule any more. */
const disabledText = "the rule was disabled";

export const noMail =
  "this server sends no mail: its operator can set WINDLASS_SMTP_URL and WINDLASS_MAIL_FROM";

const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;

export async function createRule(
  context: Context,
  user: UserCaller,
  { to, ...input }: CreateNotification,
): Promise<Notification & { secret?: string }> {
  const { store, now } = context;
  const { space_id: owner_id } = user;
  const [id, at] = [uuid(), now()];
  const secret = to.kind === "webhook" ? newSecret() : undefined;
  const place = destination(context, to.kind, to);
  const row: RuleRow = {
    id,
    owner_id,
    name: input.name,
    kind: to.kind,
    events: JSON.stringify(input.events),
    zone_id: input.zone_id ?? null,
    spec_id: input.configuration_id ?? null,
    stalled_minutes: input.stalled_minutes ?? stalledMinutes.default,
    enabled: input.enabled === false ? 0 : 1,
    host: place.host,
    addresses: place.addresses,
    secrets: sealSecrets(context, id, { url: place.url, webhook_secret: secret }),
    error: null,
    error_since: null,
    created_at: at,
    updated_at: at,
  };
  await store.write(async (tx) => {
    await checkName(tx, owner_id, row.name);
    await checkPlace(tx, row);
    await checkAddresses(tx, owner_id, to.addresses);
    const others = await listRows(tx, owner_id, undefined, rulesLimit);
    const has = `this space has ${rulesLimit} notification rules`;
    checkRoom(others.length, rulesLimit, has, "delete some of them");
    await insertRule(tx, row);
    await recordOwn(tx, user, { action: "notification.create", id, name: row.name }, at);
  });
  return { ...(await view(context, user, row)), ...(secret === undefined ? {} : { secret }) };
}

export async function listRules(
  context: Context,
  user: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<Notification[]> {
  const rows = await listRows(context.store.read, user.space_id, before, limit);
  return Promise.all(rows.map((row) => view(context, user, row)));
}

export const getRule = async (
  context: Context,
  user: UserCaller,
  id: string,
): Promise<Notification> => view(context, user, await findRow(context.store.read, user, id));

/** Changes only the fields in the request. What waits for a rule that is disabled is given up. */
export async function updateRule(
  context: Context,
  user: UserCaller,
  id: string,
  { to, ...input }: UpdateNotification,
): Promise<Notification> {
  const { space_id: owner } = user;
  const after = await context.store.write(async (tx) => {
    const before = await findRow(tx, user, id);
    const fields = [...Object.keys(input), ...(to ? ["to"] : [])];
    if (fields.length === 0) return before;
    if (to?.kind !== undefined && to.kind !== before.kind)
      throw invalid("body.to.kind", `must be ${before.kind}: the kind of a rule stays`);
    const { name = before.name, events, zone_id, configuration_id, enabled } = input;
    if (name !== before.name) await checkName(tx, owner, name);
    const at = context.now();
    const place = to && destination(context, before.kind, to);
    const row: RuleRow = {
      ...before,
      name,
      ...(events === undefined ? {} : { events: JSON.stringify(events) }),
      ...(zone_id === undefined ? {} : { zone_id }),
      ...(configuration_id === undefined ? {} : { spec_id: configuration_id }),
      stalled_minutes: input.stalled_minutes ?? before.stalled_minutes,
      ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
      ...(enabled === true ? { error: null, error_since: null } : {}),
      ...(place && {
        host: place.host,
        addresses: place.addresses,
        secrets: sealSecrets(context, before.id, {
          ...openSecrets(context, before),
          url: place.url,
        }),
      }),
      updated_at: at,
    };
    await checkPlace(tx, row);
    await checkAddresses(tx, owner, to?.addresses);
    await updateRow(tx, before.id, row);
    if (enabled === false) await tx.run(giveUpRule, { rule: before.id, error: disabledText });
    const target = { id: before.id, name, details: { fields } };
    await recordOwn(tx, user, { action: "notification.update", ...target }, at);
    return row;
  });
  return view(context, user, after);
}

export async function deleteRule(
  { store, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  await store.write(async (tx) => {
    const row = await findRow(tx, user, id);
    await tx.run(deleteRow, { id: row.id });
    await recordOwn(tx, user, { action: "notification.delete", id: row.id, name: row.name }, now());
  });
}

/** Makes a new signing secret. The old one signs too, for some seconds more. */
export async function rotateSecret(
  context: Context,
  user: UserCaller,
  id: string,
  { overlap_seconds }: { readonly overlap_seconds: number },
): Promise<{ secret: string }> {
  const secret = newSecret();
  await context.store.write(async (tx) => {
    const row = await findRow(tx, user, id);
    if (row.kind !== "webhook")
      throw invalid("id", "must be a rule of the kind webhook: only webhooks are signed");
    const at = context.now();
    const secrets = sealRotated(context, row, secret, at + overlap_seconds * 1000);
    await updateRow(tx, row.id, { secrets, updated_at: at });
    const target = { id: row.id, name: row.name };
    await recordOwn(tx, user, { action: "notification.rotate_secret", ...target }, at);
  });
  return { secret };
}

export async function findRow(
  queries: Queries,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<RuleRow> {
  const row = await queries.first(findRule, { id, owner });
  if (!row) throw notFound("notification rule");
  return row;
}

/** Throws if the fields do not fit the kind, or the address may not be reached. */
function destination(
  { outbound, mail }: Context,
  kind: NotificationKind,
  { url, addresses }: Pick<CreateNotification["to"], "url" | "addresses">,
): Pick<RuleRow, "host" | "addresses"> & Pick<SealedSecrets, "url"> {
  if (kind === "email") {
    if (url !== undefined) throw invalid("body.to.url", "must be left out: mail has addresses");
    if (addresses === undefined) throw invalid("body.to.addresses", "is missing");
    if (mail === null) throw new RefusalError("mail_not_configured", noMail);
    return { host: null, addresses: JSON.stringify(addresses), url: undefined };
  }
  if (addresses !== undefined)
    throw invalid("body.to.addresses", "must be left out: only email has addresses");
  const parsed = url === undefined ? undefined : URL.parse(url);
  if (!parsed) throw invalid("body.to.url", parsed === null ? "must be an address" : "is missing");
  try {
    outbound.check(parsed.href);
  } catch (error) {
    if (error instanceof DestinationError)
      throw new RefusalError("destination_not_allowed", error.message);
    throw error;
  }
  return { host: parsed.host, addresses: null, url: parsed.href };
}

async function checkAddresses(
  tx: Queries,
  owner: string,
  addresses: readonly string[] = [],
): Promise<void> {
  if (addresses.length === 0) return;
  // As the system, because the accounts of other members are hidden.
  const people = await asSystem(() => tx.all(listAddresses, { owner }));
  const known = new Set(people.map(({ email }) => email));
  const other = addresses.find((address) => !known.has(address.toLowerCase()));
  if (other !== undefined)
    throw new RefusalError(
      "destination_not_allowed",
      `"${other}" is no verified address of a member of this space`,
    );
}

async function checkName(tx: Queries, owner: string, name: string): Promise<void> {
  if (await tx.first(findRuleByName, { name, owner }))
    throw new RefusalError("name_taken", `the notification rule "${name}" already exists`);
}

/** Undefined after a restore without the key that sealed it: the rule can still be seen and deleted. */
function readUrl(context: Context, row: RuleRow): string | undefined {
  try {
    return openSecrets(context, row).url;
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}

async function view(context: Context, user: UserCaller, row: RuleRow): Promise<Notification> {
  const last = await context.store.read.first(findLastDelivery, { rule: row.id });
  const isShown = row.kind === "webhook" && mayDo(user, "configure");
  const url = isShown ? readUrl(context, row) : undefined;
  return {
    id: row.id,
    name: row.name,
    events: JSON.parse(row.events) as string[],
    to: {
      kind: row.kind,
      host: row.host,
      ...(url === undefined ? {} : { url }),
      ...(row.addresses === null ? {} : { addresses: JSON.parse(row.addresses) as string[] }),
    },
    zone_id: row.zone_id,
    configuration_id: row.spec_id,
    enabled: row.enabled === 1,
    stalled_minutes: row.stalled_minutes,
    error:
      row.error === null
        ? null
        : { message: row.error, since: time(row.error_since ?? row.updated_at) },
    last_delivery: last ? viewDelivery(last) : null,
    created_at: time(row.created_at),
    updated_at: time(row.updated_at),
  };
}
