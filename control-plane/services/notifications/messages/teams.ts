/**
 * The message of an event in Teams: an Adaptive Card, as the webhooks of Workflows take it. Names
 * stand in text runs only, which have no Markdown, unlike text blocks and the facts of a fact set.
 */
import type { NotificationEvent } from "../../../../protocol/notification-events.ts";
import { factsOf, linkOf } from "./parts.ts";

interface TextRun {
  readonly type: "TextRun";
  readonly text: string;
  readonly weight?: "Bolder";
  readonly isSubtle?: true;
}

interface TeamsCard {
  readonly $schema: string;
  readonly type: "AdaptiveCard";
  readonly version: "1.4";
  readonly fallbackText: string;
  readonly body: readonly {
    readonly type: "RichTextBlock";
    readonly inlines: readonly TextRun[];
  }[];
  readonly actions: readonly {
    readonly type: "Action.OpenUrl";
    readonly title: string;
    readonly url: string;
  }[];
}

export interface TeamsMessage {
  readonly type: "message";
  readonly attachments: readonly {
    readonly contentType: "application/vnd.microsoft.card.adaptive";
    readonly contentUrl: null;
    readonly content: TeamsCard;
  }[];
}

export function teamsMessage(event: NotificationEvent): TeamsMessage {
  const link = linkOf(event);
  const content: TeamsCard = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    fallbackText: event.text,
    body: [
      block({ type: "TextRun", text: event.text, weight: "Bolder" }),
      ...factsOf(event).map(({ name, value }) =>
        block(
          { type: "TextRun", text: `${name}: `, isSubtle: true },
          { type: "TextRun", text: value },
        ),
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

const block = (...inlines: TextRun[]) => ({ type: "RichTextBlock" as const, inlines });
