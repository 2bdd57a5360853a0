/** The verbs of `windlass notifications`. */
import { shellWord } from "../../common/shell-word.ts";
import { happeningWords } from "../../protocol/happenings.ts";
import type { Delivery, Notification, UpdateNotification } from "../../protocol/notifications.ts";
import { webhookOverlapLimit } from "../../protocol/limits.ts";
import type { Api } from "../api/api.ts";
import { find } from "../api/find.ts";
import { parseCount, parseWholeNumber, readPages } from "../api/pages.ts";
import { teamWords } from "../api/team.ts";
import { configurationOf } from "../configurations/find.ts";
import { readSecrets } from "../configurations/variables.ts";
import type { Run } from "../run.ts";
import { findIn } from "../teams/elsewhere.ts";
import { confirm } from "../terminal/ask.ts";
import { CliError, print, say } from "../terminal/output.ts";
import { ago, shortDuration, time, timeAndAge } from "../terminal/times.ts";
import { findZone } from "../zones/find.ts";

interface FieldOptions {
  readonly url?: string | undefined;
  readonly event?: readonly string[] | undefined;
  readonly address?: readonly string[] | undefined;
  readonly zone?: string | undefined;
  readonly configuration?: string | undefined;
  readonly stalled?: string | undefined;
}

export interface CreateOptions extends FieldOptions {
  readonly to: Notification["to"]["kind"];
}

export interface UpdateOptions extends FieldOptions {
  readonly askUrl?: true | undefined;
  readonly everywhere?: true | undefined;
  readonly enable?: true | undefined;
  readonly disable?: true | undefined;
  readonly rename?: string | undefined;
}

export interface DeliveryOptions {
  readonly status?: "delivered" | "retrying" | "given-up" | undefined;
  readonly event?: string | undefined;
  readonly limit: string;
}

export function list({ api, list: show }: Run, rules: readonly Notification[]): void {
  show(
    rules,
    {
      NAME: ({ name }) => name,
      TO: ({ to }) => `${to.kind}, ${placeOf(to)}`,
      EVENTS: ({ events }) => events.join(", "),
      "LAST DELIVERY": ({ last_delivery: last }) =>
        last && `${statusWords(last)} ${ago(last.sent_at)}`,
      ERROR: ({ error, enabled }) => error?.message ?? (enabled ? undefined : "disabled"),
      ID: ({ id }) => id,
    },
    `There are no notification rules yet. To make one: windlass notifications create --help${teamWords(api.team)}`,
    { spare: ["EVENTS", "LAST DELIVERY"] },
  );
}

export const listAll = async (api: Api): Promise<Notification[]> =>
  (await api.call("listNotifications")).notifications;

/** Returns a rule by name or id. Throws `CliError` if there is none. */
export const ruleOf = ({ api }: Run, name: string): Promise<Notification> =>
  findIn(api, "notification rule", "notifications", listAll, name);

export function show(run: Run, it: Notification): void {
  const { error, to, last_delivery: last } = it;
  const only = it.configuration_id
    ? `the configuration ${it.configuration_id}`
    : it.zone_id && `the zone ${it.zone_id}`;
  run.show(it, {
    name: it.name,
    id: it.id,
    to: `${to.kind}, ${to.url ?? placeOf(to)}`,
    enabled: it.enabled ? "yes" : "no",
    error: error && `${error.message} (since ${time(error.since)})`,
    events: it.events.map((event) => `${event}: ${happeningWords(event)}`).join("\n"),
    "only of": only,
    "stalled after": `${it.stalled_minutes} minutes in the queue`,
    "last delivery": last && `${statusWords(last)}, ${timeAndAge(last.sent_at)}`,
    console: `${run.api.server}/notifications/${it.id}`,
  });
}

const placeOf = ({ host, addresses = [] }: Notification["to"]): string =>
  host ?? addresses.join(", ");

const statusWords = ({ status, response_status }: Pick<Delivery, "status" | "response_status">) =>
  `${status.replace("_", " ")}${response_status === null ? "" : ` (${response_status})`}`;

export async function create(run: Run, name: string, options: CreateOptions): Promise<void> {
  const { to: kind, url, address } = options;
  if (url !== undefined && kind !== "webhook")
    throw new CliError(
      kind === "email"
        ? "--url is not for e-mail: name its recipients with --address"
        : "The address of a channel is a secret, and other users see the command line. Leave out --url: it is asked for, or read from stdin",
      2,
    );
  const { events, to, ...fields } = await fieldsOf(run.api, options, kind !== "email");
  if (events === undefined)
    throw new CliError("Name at least one event: --event job.failed, for example", 2);
  if (kind === "email" && address === undefined)
    throw new CliError("Name at least one recipient: --address ada@example.com, for example", 2);
  const body = { ...fields, name, events, to: { ...to, kind } };
  const { secret, ...created } = await run.api.call("createNotification", { body });
  if (run.json)
    return print(JSON.stringify({ ...created, ...(secret ? { secret } : {}) }, null, 2));
  show(run, created);
  if (secret) saySecret(secret);
  const [own, team] = [shellWord(name), teamWords(run.api.team)];
  run.done(`Next, send it a ping: windlass notifications test ${own}${team}`);
}

export async function update(run: Run, name: string, options: UpdateOptions): Promise<void> {
  const { rename, enable, disable, everywhere, askUrl, url } = options;
  if (enable && disable) throw new CliError("Pass --enable or --disable, not both", 2);
  if (everywhere && (options.zone ?? options.configuration) !== undefined)
    throw new CliError("--everywhere is not for one zone or one configuration", 2);
  const body: UpdateNotification = {
    ...(await fieldsOf(run.api, options, askUrl === true)),
    ...(everywhere ? { zone_id: null, configuration_id: null } : {}),
    ...(enable || disable ? { enabled: enable === true } : {}),
    ...(rename === undefined ? {} : { name: rename }),
  };
  if (Object.keys(body).length === 0)
    throw new CliError("Nothing to change. For help: windlass notifications update --help", 2);
  const { id, to } = await ruleOf(run, name);
  if (url !== undefined && to.kind !== "webhook")
    throw new CliError(
      "Only the address of a webhook may stand on the command line. Pass --ask-url in place of --url",
      2,
    );
  show(run, await run.api.call("updateNotification", { params: { id }, body }));
}

export async function remove(
  run: Run,
  name: string,
  options: { readonly yes?: true | undefined },
): Promise<void> {
  const { id, name: found } = await ruleOf(run, name);
  await confirm(`Delete the notification rule "${found}" and its deliveries?`, options);
  await run.api.call("deleteNotification", { params: { id } });
  run.done(`The notification rule "${found}" is deleted.`);
}

export async function test(run: Run, name: string): Promise<void> {
  const { id } = await ruleOf(run, name);
  showDelivery(run, await run.api.call("testNotification", { params: { id } }));
}

export async function redeliver(run: Run, name: string, delivery: string): Promise<void> {
  const { id } = await ruleOf(run, name);
  const all = await deliveriesOf(run.api, id, {}, searched);
  const named = all.items.map((one) => ({ ...one, name: one.event_id }));
  const { id: delivery_id } = find(run.api, "delivery", "notifications", named, delivery);
  showDelivery(run, await run.api.call("redeliver", { params: { id, delivery_id } }));
}

/** Deliveries among which `redeliver` looks for the beginning of an id. */
const searched = 10_000;

export async function rotateSecret(
  run: Run,
  name: string,
  { overlap }: { readonly overlap: string },
): Promise<void> {
  const overlap_seconds = parseWholeNumber("--overlap", overlap, webhookOverlapLimit);
  const { id } = await ruleOf(run, name);
  const made = await run.api.call("rotateNotificationSecret", {
    params: { id },
    body: { overlap_seconds },
  });
  if (run.json) return print(JSON.stringify(made, null, 2));
  saySecret(made.secret);
  run.done(
    overlap_seconds === 0
      ? "The old one does not sign any more: change it at the receiver."
      : `Change it at the receiver within ${overlap_seconds} seconds: until then the old one signs too.`,
  );
}

export async function deliveries(
  run: Run,
  name: string,
  { status, event, limit }: DeliveryOptions,
): Promise<void> {
  const wanted = parseCount("--limit", limit);
  const { id, name: found } = await ruleOf(run, name);
  const filter = {
    ...(status === undefined ? {} : { status: status.replace("-", "_") as Delivery["status"] }),
    ...(event === undefined ? {} : { event: event as Delivery["event"] }),
  };
  const { items, more } = await deliveriesOf(run.api, id, filter, wanted);
  run.list(
    items,
    {
      SENT: ({ sent_at }) => time(sent_at),
      EVENT: (one) => one.event,
      STATUS: statusWords,
      TOOK: ({ duration_ms }) => (duration_ms === null ? undefined : shortDuration(duration_ms)),
      TRIES: ({ attempt }) => attempt,
      NEXT: ({ next_at }) => next_at && time(next_at),
      ERROR: ({ error }) => error,
      ID: (one) => one.id,
    },
    `Nothing was sent by "${found}" that fits. To send a ping: windlass notifications test ${shellWord(found)}${teamWords(run.api.team)}`,
    { spare: ["ERROR", "NEXT", "TOOK"] },
  );
  if (more) run.cut("deliveries");
}

const deliveriesOf = (
  api: Api,
  id: string,
  filter: { readonly status?: Delivery["status"]; readonly event?: Delivery["event"] },
  wanted: number,
) =>
  readPages(wanted, async (page) => {
    const query = { ...filter, ...page };
    const found = await api.call("listDeliveries", { params: { id }, query });
    return { items: found.deliveries, next_cursor: found.next_cursor };
  });

/** Throws `CliError` after it has shown a delivery that did not arrive. */
function showDelivery(run: Run, it: Delivery): void {
  run.show(it, {
    event: it.event,
    "event id": it.event_id,
    id: it.id,
    status: statusWords(it),
    error: it.error,
    took: it.duration_ms === null ? null : shortDuration(it.duration_ms),
    sent: it.sent_at && time(it.sent_at),
    next: it.next_at && time(it.next_at),
  });
  if (it.status !== "delivered") throw new CliError("It did not arrive.", 1);
}

/** The only place where the secret is seen: stdout has it, so that it can be piped on. */
function saySecret(secret: string): void {
  say("\nThe receiver verifies the signatures with this secret. It is shown this once.");
  print(`secret   ${secret}`);
  say("docs/notifications.md has receivers in three languages.\n");
}

/** Reads an address that is not on the command line from a prompt or stdin, if it is wanted. */
async function fieldsOf(
  api: Api,
  { url, event, address, zone, configuration, stalled }: FieldOptions,
  wantsUrl: boolean,
): Promise<UpdateNotification> {
  const secrets = await readSecrets(wantsUrl && url === undefined ? [asked] : []);
  const posted = url ?? secrets.get(asked)?.trim();
  const to = {
    ...(posted === undefined ? {} : { url: posted }),
    ...(address === undefined ? {} : { addresses: [...address] }),
  };
  return {
    ...(Object.keys(to).length === 0 ? {} : { to }),
    ...(event === undefined ? {} : { events: [...event] }),
    ...(zone === undefined ? {} : { zone_id: (await findZone(api, zone)).id }),
    ...(configuration === undefined
      ? {}
      : { configuration_id: (await configurationOf(api, configuration)).id }),
    ...(stalled === undefined ? {} : { stalled_minutes: parseCount("--stalled", stalled) }),
  };
}

const asked = { name: "the address", place: 0 };
