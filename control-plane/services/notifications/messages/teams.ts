/**
 * The message of an event in Teams: an Adaptive Card, as the webhooks of Workflows take it. Names
 * stand in text runs only, which have no Markdown, unlike text blocks and the facts of a fact set.
 */
import type { NotificationEvent } from "../../../../protocol/notification-events.ts";
import { factsOf, linkOf } from "./parts.ts";

export function teamsMessage(event: NotificationEvent) {
  const link = linkOf(event);
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    fallbackText: event.text,
    body: [
      block({ text: event.text, weight: "Bolder" }),
      ...factsOf(event).map(({ name, value }) =>
        block({ text: `${name}: `, isSubtle: true }, { text: value }),
      ),
    ],
    actions: link ? [{ type: "Action.OpenUrl", ...link }] : [],
  };
  return {
    type: "message",
    attachments: [
      { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content },
    ],
  };
}

const block = (...runs: readonly object[]) => ({
  type: "RichTextBlock",
  inlines: runs.map((run) => ({ type: "TextRun", ...run })),
});
