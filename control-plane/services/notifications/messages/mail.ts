/** The mail of an event, as plain text and as HTML. */
import type { NotificationEvent } from "../../../../protocol/notification-events.ts";
import { escapeHtml } from "../../../domain/escape-html.ts";
import type { Mail } from "../../../outbound/mail.ts";
import { shownWord } from "../event-text.ts";
import { factsOf, linkOf } from "./parts.ts";

export interface MailedRule {
  readonly id: string;
  readonly name: string;
  readonly addresses: readonly string[];
  /** Of this server, for people. */
  readonly publicUrl: string;
}

/** Characters of the subject: mail programs show fewer. */
const subjectLimit = 160;

export function mailOf(event: NotificationEvent, rule: MailedRule): Mail {
  const { hostname } = new URL(rule.publicUrl);
  const name = shownWord(rule.name);
  const page = `${rule.publicUrl}/notifications/${rule.id}`;
  const why = `You get this mail by the notification rule “${name}”. To change it:`;
  const link = linkOf(event);
  const facts = factsOf(event);
  const text = [
    event.text,
    "",
    ...facts.map((fact) => `${fact.name}: ${fact.value}`),
    ...(link ? ["", `${link.title}: ${link.url}`] : []),
    "",
    "-- ",
    `${why} ${page}`,
    "",
  ].join("\n");
  const rows = facts.map(
    (fact) =>
      `<tr><th align="left" style="padding:2px 12px 2px 0;font-weight:normal;color:#666">${escapeHtml(fact.name)}</th><td>${escapeHtml(fact.value)}</td></tr>`,
  );
  const html = `<!doctype html><html lang="en"><body style="font-family:sans-serif">
<p><strong>${escapeHtml(event.text)}</strong></p>
<table role="presentation">${rows.join("")}</table>
${link ? `<p><a href="${escapeHtml(link.url)}">${link.title}</a></p>` : ""}
<p style="color:#666">${escapeHtml(why)} <a href="${escapeHtml(page)}">${escapeHtml(page)}</a></p>
</body></html>\n`;
  return {
    to: rule.addresses,
    subject: shownWord(`[${shownWord(event.space.name, 40)}] ${event.text}`, subjectLimit),
    text,
    html,
    // The same for each attempt, so that mail programs can drop a copy.
    messageId: `<${event.id}.${rule.id}@${hostname}>`,
    headers: {
      "List-Id": `<${rule.id}.notifications.${hostname}>`,
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "All",
    },
  };
}

/** Says that a rule has failed for good. `once`: the same for each mail about one failure. */
export function failureMail(rule: MailedRule, error: string, once: string): Mail {
  const { hostname } = new URL(rule.publicUrl);
  const page = `${rule.publicUrl}/notifications/${rule.id}`;
  const said = `The notification rule “${shownWord(rule.name)}” has failed: ${shownWord(error)}`;
  return {
    to: rule.addresses,
    subject: shownWord(said, subjectLimit),
    text: `${said}\n\nWhat was not delivered, and why: ${page}\n`,
    html: `<!doctype html><html lang="en"><body style="font-family:sans-serif">
<p><strong>${escapeHtml(said)}</strong></p>
<p><a href="${escapeHtml(page)}">What was not delivered, and why</a></p>
</body></html>\n`,
    messageId: `<${once}.${rule.id}@${hostname}>`,
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
  };
}
