/** What people do for each kind of place that notifications go to. */
import type { NotificationKind } from "../../../protocol/notifications.ts";

interface KindWords {
  readonly name: string;
  readonly text: string;
}

export const kindWords: Readonly<Record<NotificationKind, KindWords>> = {
  webhook: {
    name: "Webhook",
    text: "JSON to a server of your own, signed by the Standard Webhooks scheme. The next page shows the secret that verifies it, once.",
  },
  slack: {
    name: "Slack",
    text: "Add an incoming webhook for the channel at Slack, and paste its address. It is stored encrypted, and never shown.",
  },
  teams: {
    name: "Teams",
    text: "In the channel add the workflow “When a Teams webhook request is received”, and paste its address. It is stored encrypted, and never shown.",
  },
  email: {
    name: "E-mail",
    text: "To verified addresses of members of this space.",
  },
};

export const notificationKinds = Object.keys(kindWords) as NotificationKind[];
