/** One attempt to send one event to where a rule leads. */
import { signatureOf } from "../../../common/standard-webhooks.ts";
import { retryAfter } from "../../../common/retry-after.ts";
import { day, second } from "../../../common/units.ts";
import type { NotificationEvent } from "../../../protocol/notification-events.ts";
import { DestinationError } from "../../outbound/destinations.ts";
import { MailError } from "../../outbound/mail.ts";
import { OutboundError } from "../../outbound/outbound.ts";
import { listAddresses } from "../../store/notifications/deliveries.ts";
import type { RuleRow } from "../../store/notifications/rules.ts";
import { asSystem } from "../../store/spaces.ts";
import { openSecrets, webhookSecrets, type WebhookSecrets } from "../connections/secrets.ts";
import type { Context } from "../context.ts";
import { bodyOf } from "./event-body.ts";
import { noMail } from "./rules.ts";
import { mailOf } from "./messages/mail.ts";
import { slackMessage } from "./messages/slack.ts";
import { teamsMessage } from "./messages/teams.ts";

export interface Outcome {
  /** Null: it was delivered. */
  readonly error: string | null;
  readonly response_status: number | null;
  readonly duration_ms: number;
  /** How long the receiver wants no more, in milliseconds. */
  readonly retryAfter?: number | undefined;
  /** Whether another attempt would fail as well. */
  readonly isFinal?: boolean;
}

/** Throws only what is no fault of the receiver. */
export async function send(
  context: Context,
  rule: RuleRow,
  event: NotificationEvent,
  signal?: AbortSignal,
): Promise<Outcome> {
  const begun = performance.now();
  const ended = (outcome: Omit<Outcome, "duration_ms">): Outcome => ({
    ...outcome,
    duration_ms: Math.round(performance.now() - begun),
  });
  try {
    return ended(
      rule.kind === "email"
        ? await mail(context, rule, event)
        : await post(context, rule, event, signal),
    );
  } catch (error) {
    const isKnown = [OutboundError, DestinationError, MailError].some(
      (one) => error instanceof one,
    );
    if (!isKnown) throw error;
    return ended({ error: (error as Error).message, response_status: null });
  }
}

async function post(
  context: Context,
  rule: RuleRow,
  event: NotificationEvent,
  signal?: AbortSignal,
): Promise<Omit<Outcome, "duration_ms">> {
  const secrets = openSecrets(context, rule);
  const body =
    rule.kind === "slack"
      ? JSON.stringify(slackMessage(event))
      : rule.kind === "teams"
        ? JSON.stringify(teamsMessage(event))
        : bodyOf(event);
  const signed = rule.kind === "webhook" ? signature(secrets, event.id, body, context.now()) : {};
  const { status, headers } = await context.outbound.send(secrets.url ?? "", {
    method: "POST",
    headers: { "content-type": "application/json", ...signed },
    body,
    statusOnly: true,
    signal,
  });
  return {
    error: status >= 200 && status < 300 ? null : errorOf(status),
    response_status: status,
    retryAfter: retryAfter(headers.get("retry-after"), longestWait, context.now()),
  };
}

const errorOf = (status: number): string =>
  status >= 300 && status < 400
    ? `HTTP ${status}: redirects are not followed, set the address to which it leads`
    : `HTTP ${status}`;

/** The Standard Webhooks scheme, with each secret that holds now. */
function signature(
  secrets: WebhookSecrets,
  id: string,
  body: string,
  now: number,
): Record<string, string> {
  const time = String(Math.floor(now / second));
  const signatures = webhookSecrets(secrets, now).map(
    (secret) => `v1,${signatureOf(secret, { id, time, body })}`,
  );
  return {
    "webhook-id": id,
    "webhook-timestamp": time,
    "webhook-signature": signatures.join(" "),
  };
}

/** A receiver may ask for no more. */
const longestWait = day;

const failed = (error: string) => ({ error, response_status: null });

/** Who has left the space since the rule was written gets nothing. */
async function mail(
  context: Context,
  { owner_id: owner, ...rule }: RuleRow,
  event: NotificationEvent,
): Promise<Omit<Outcome, "duration_ms">> {
  if (context.mail === null) return failed(noMail);
  // As the system: people see no accounts of other members.
  const members = await asSystem(() => context.store.read.all(listAddresses, { owner }));
  const known = new Set(members.map(({ email }) => email));
  const written = JSON.parse(rule.addresses ?? "[]") as string[];
  const addresses = written.filter((address) => known.has(address.toLowerCase()));
  if (addresses.length === 0)
    return { ...failed("none of its addresses is a member's any more"), isFinal: true };
  const { refused } = await context.mail.send(
    mailOf(event, { id: rule.id, name: rule.name, addresses, publicUrl: context.publicUrl() }),
  );
  return refused.length > 0
    ? {
        ...failed(`the mail server has refused ${refused.join(", ").slice(0, 500)}`),
        isFinal: true,
      }
    : { error: null, response_status: null };
}
