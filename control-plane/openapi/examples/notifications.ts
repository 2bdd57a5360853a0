import {
  CreateNotification,
  Delivery,
  Notification,
  SigningSecret,
  UpdateNotification,
} from "../../../protocol/notifications.ts";
import { at, example, ids } from "./example.ts";

const delivery = {
  id: ids.delivery,
  event_id: "evt_019aa5c3-0a00-7c2d-9e4f-a5b6c7d8e916",
  event: "approval.needed",
  attempt: 1,
  status: "delivered",
  response_status: 204,
  error: null,
  duration_ms: 85,
  sent_at: at(61),
  next_at: null,
} as const;

export const notificationExamples = [
  example(Delivery, delivery),
  example(Notification, {
    id: ids.notification,
    name: "deployments",
    events: ["approval.needed", "job.failed", "job.outcome_unknown"],
    to: {
      kind: "webhook",
      host: "hooks.example.com",
      url: "https://hooks.example.com/windlass",
    },
    zone_id: null,
    configuration_id: null,
    enabled: true,
    stalled_minutes: 15,
    error: null,
    last_delivery: delivery,
    created_at: at(3),
    updated_at: at(3),
  }),
  example(CreateNotification, {
    name: "deployments",
    events: ["approval.needed", "job.failed", "job.outcome_unknown"],
    to: { kind: "webhook", url: "https://hooks.example.com/windlass" },
  }),
  example(UpdateNotification, {
    events: ["approval.*", "job.outcome_unknown"],
    to: { url: "https://hooks.example.com/windlass" },
  }),
  example(SigningSecret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="),
];
