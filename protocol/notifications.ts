/** Notification rules: which events go to which webhook, channel or mailbox. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  about,
  Name,
  NextCursor,
  Nullable,
  OneOf,
  Paging,
  StoredName,
  Timestamp,
  Uuid,
} from "./fields.ts";
import { webhookOverlapLimit } from "./limits.ts";
import { EventName, eventSelections } from "./notification-events.ts";

export const NotificationKind = OneOf(["webhook", "slack", "teams", "email"]);
export type NotificationKind = Static<typeof NotificationKind>;

/** How many people one rule writes to. */
export const addressesLimit = 20;
/** After how many minutes in the queue a job counts as stalled. */
export const stalledMinutes = { minimum: 1, maximum: 10_080, default: 15 } as const;

const Selection = Type.String({
  minLength: 1,
  maxLength: 60,
  pattern: `^(${eventSelections.map((one) => one.replaceAll(/[.*]/g, "\\$&")).join("|")})$`,
  "x-form": "the name of an event such as job.failed, or the beginning of names such as approval.*",
  examples: ["approval.needed"],
});
const Url = Type.String({
  minLength: 8,
  maxLength: 2048,
  pattern: "^https?://[^\\s/?#@]+([/?][\\u0021\\u0022\\u0024-\\u007e]*)?$",
  "x-form": "an address such as https://hooks.example.com/windlass, without user name and fragment",
  examples: ["https://hooks.example.com/windlass"],
});
const Address = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: "^[^\\s@]+@[^\\s@]+$",
  "x-form": "an e-mail address",
  examples: ["ada@example.com"],
});

const to = {
  url: Type.Optional(about(Url, "Where to post to. Not for `email`.")),
  addresses: Type.Optional(
    Type.Array(Address, {
      minItems: 1,
      maxItems: addressesLimit,
      uniqueItems: true,
      description: "`email`: verified addresses of members of the space.",
    }),
  ),
};
const place = {
  zone_id: about(Nullable(Uuid), "Only events of this zone; null: of the whole space."),
  configuration_id: about(Nullable(Uuid), "Only events of this configuration."),
};
const Events = Type.Array(Selection, {
  minItems: 1,
  maxItems: 100,
  uniqueItems: true,
  description: "Names of events, or the beginning of names such as `job.*`.",
});
const written = {
  zone_id: Type.Optional(place.zone_id),
  configuration_id: Type.Optional(place.configuration_id),
  enabled: Type.Optional(Type.Boolean({ description: "Default: true." })),
  stalled_minutes: Type.Optional(
    Type.Integer({
      ...stalledMinutes,
      description: "After how many minutes in the queue `queue.stalled` tells of a job.",
    }),
  ),
};

export const Delivery = Type.Object({
  id: Uuid,
  event_id: about(Type.String(), "The `id` of the event, which its webhook has as `webhook-id`."),
  event: EventName,
  attempt: about(Type.Integer(), "How often it was sent; 0: not yet."),
  status: OneOf(["delivered", "retrying", "given_up"]),
  response_status: about(Nullable(Type.Integer()), "The status of the last response."),
  error: about(Nullable(Type.String()), "What went wrong at the last attempt."),
  duration_ms: about(Nullable(Type.Integer()), "How long the last attempt took."),
  sent_at: about(Nullable(Timestamp), "When it was sent last."),
  next_at: about(Nullable(Timestamp), "When it is sent again; null if it is not."),
});
export type Delivery = Static<typeof Delivery>;

export const Notification = Type.Object({
  id: Uuid,
  name: StoredName,
  events: Type.Array(Type.String()),
  to: Type.Object({
    kind: NotificationKind,
    host: about(Nullable(Type.String()), "The host of the address; null for `email`."),
    url: Type.Optional(
      about(
        Type.String(),
        "`webhook`: the address, for callers who may configure. Those of `slack` and `teams` are secrets.",
      ),
    ),
    addresses: Type.Optional(about(Type.Array(Type.String()), "`email`: the recipients.")),
  }),
  ...place,
  enabled: Type.Boolean(),
  stalled_minutes: Type.Integer(),
  error: about(
    Nullable(Type.Object({ message: Type.String(), since: Timestamp })),
    "Why deliveries were given up, or why the server has disabled the rule; null after a success, or when the rule is enabled again.",
  ),
  last_delivery: about(Nullable(Delivery), "The delivery that was sent last."),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Notification = Static<typeof Notification>;

export const SigningSecret = about(
  Type.String(),
  "Verifies the signatures: `whsec_` and 32 bytes in base64. It is shown this once.",
);

export const CreateNotification = Type.Object(
  {
    name: Name,
    events: Events,
    to: Type.Object({ kind: NotificationKind, ...to }, { additionalProperties: false }),
    ...written,
  },
  { additionalProperties: false },
);
export type CreateNotification = Static<typeof CreateNotification>;

export const UpdateNotification = Type.Object(
  {
    name: Type.Optional(Name),
    events: Type.Optional(Events),
    to: Type.Optional(
      Type.Object(
        {
          kind: Type.Optional(about(NotificationKind, "The kind of the rule, which stays.")),
          ...to,
        },
        { additionalProperties: false },
      ),
    ),
    ...written,
  },
  { additionalProperties: false },
);
export type UpdateNotification = Static<typeof UpdateNotification>;

const params = { id: about(Uuid, "The notification rule.") };
const destinationRefusals = ["destination_not_allowed", "mail_not_configured"] as const;
const belongsTo = { configuration_id: "configurations", zone_id: "zones" };

export const notificationEndpoints = {
  listNotifications: endpoint("GET /api/cli/notifications", {
    summary: "List notification rules, newest first",
    permission: "read",
    query: Paging,
    answer: Type.Object({ notifications: Type.Array(Notification), next_cursor: NextCursor }),
  }),
  createNotification: endpoint("POST /api/cli/notifications", {
    summary: "Send events to a webhook, to Slack or Teams, or by e-mail",
    description:
      "The body of a webhook is the schema `NotificationEvent`, signed by the Standard Webhooks scheme. Addresses are encrypted at rest. One that is not public needs `WINDLASS_OUTBOUND_ALLOW`.",
    permission: "configure",
    body: CreateNotification,
    belongsTo,
    status: 201,
    answer: Type.Object({
      ...Notification.properties,
      secret: Type.Optional(SigningSecret),
    }),
    refusals: ["name_taken", "not_found", "quota_exceeded", ...destinationRefusals],
  }),
  getNotification: endpoint("GET /api/cli/notifications/{id}", {
    summary: "Read a notification rule",
    permission: "read",
    params,
    answer: Notification,
  }),
  updateNotification: endpoint("PATCH /api/cli/notifications/{id}", {
    summary: "Change a notification rule; its kind stays",
    permission: "configure",
    params,
    body: UpdateNotification,
    answer: Notification,
    refusals: ["name_taken", ...destinationRefusals],
  }),
  deleteNotification: endpoint("DELETE /api/cli/notifications/{id}", {
    summary: "Delete a notification rule and its deliveries",
    permission: "configure",
    params,
  }),
  testNotification: endpoint("POST /api/cli/notifications/{id}/test", {
    summary: "Send a `ping` now",
    permission: "configure",
    params,
    answer: Delivery,
    refusals: ["mail_not_configured", "too_many_requests"],
  }),
  rotateNotificationSecret: endpoint("POST /api/cli/notifications/{id}/rotate-secret", {
    summary: "Make a new signing secret; until the overlap ends, both sign",
    permission: "configure",
    params,
    body: Type.Object(
      { overlap_seconds: Type.Integer({ minimum: 0, maximum: webhookOverlapLimit }) },
      { additionalProperties: false },
    ),
    answer: Type.Object({ secret: SigningSecret }),
  }),
  listDeliveries: endpoint("GET /api/cli/notifications/{id}/deliveries", {
    summary: "List the deliveries of a rule, newest first",
    permission: "read",
    params,
    query: {
      status: Type.Optional(about(Delivery.properties.status, "Only those with this status.")),
      event: Type.Optional(about(EventName, "Only those of this event.")),
      ...Paging,
    },
    answer: Type.Object({ deliveries: Type.Array(Delivery), next_cursor: NextCursor }),
  }),
  redeliver: endpoint("POST /api/cli/notifications/{id}/deliveries/{delivery_id}/redeliver", {
    summary: "Send the same event again, now",
    permission: "configure",
    params: { ...params, delivery_id: about(Uuid, "The delivery.") },
    answer: Delivery,
    refusals: ["mail_not_configured", "too_many_requests"],
  }),
};
