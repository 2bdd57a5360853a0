/**
 * The message of an event in Slack. Texts are of type `plain_text`, in which nothing is formatted;
 * with `&`, `<` and `>` escaped, nothing in them is a link or mentions people either.
 */
import type { KnownBlock, PlainTextElement } from "@slack/types";
import type { NotificationEvent } from "../../../../protocol/notification-events.ts";
import { factsOf, linkOf } from "./parts.ts";

/** Slack's limits of a text in a section and in its fields, in characters, and of its fields. */
const sectionLimit = 3000;
const fieldLimit = 2000;
const fieldsLimit = 10;

export function slackMessage(event: NotificationEvent): {
  /** Shown where blocks are not, such as on a locked telephone. */
  readonly text: string;
  readonly blocks: KnownBlock[];
} {
  const link = linkOf(event);
  const fields = factsOf(event).map(({ name, value }) => plain(`${name}: ${value}`, fieldLimit));
  return {
    text: escaped(event.text, sectionLimit),
    blocks: [
      { type: "section", text: plain(event.text, sectionLimit) },
      { type: "section", fields: fields.slice(0, fieldsLimit) },
      ...(link ? [linkBlock(link)] : []),
    ],
  };
}

const linkBlock = ({ url, title }: { url: string; title: string }): KnownBlock => ({
  type: "section",
  text: { type: "mrkdwn", text: `<${linkAddress(url)}|${title}>`, verbatim: true },
});

const plain = (text: string, limit: number): PlainTextElement => ({
  type: "plain_text",
  text: escaped(text, limit),
  emoji: false,
});

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** The limit is of the escaped text; an entity is not cut. */
function escaped(text: string, limit: number): string {
  const all = text.replaceAll(/[&<>]/g, (character) => entities[character]!);
  return all.length <= limit
    ? all
    : `${all.slice(0, limit - 1).replace(/&\w*$|[\ud800-\udbff]$/, "")}…`;
}

const linkAddress = (url: string): string =>
  url.replaceAll(/[<>|\s]/g, encodeURIComponent).replaceAll("&", "&amp;");
