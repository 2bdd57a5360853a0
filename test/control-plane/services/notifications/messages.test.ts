import { AdaptiveCard, SerializationContext } from "adaptivecards";
import { describe, expect, test } from "vitest";
import { validatorOf } from "../../../../control-plane/domain/validator-of.ts";
import { eventText } from "../../../../control-plane/services/notifications/event-text.ts";
import { mailOf } from "../../../../control-plane/services/notifications/messages/mail.ts";
import { slackMessage } from "../../../../control-plane/services/notifications/messages/slack.ts";
import { teamsMessage } from "../../../../control-plane/services/notifications/messages/teams.ts";
import { eventNames, NotificationEvent } from "../../../../protocol/notification-events.ts";
import { hostileEvent, sampleEvent } from "../../../helpers/plane/sample-events.ts";

const rule = {
  id: "01890a5d-ac96-774b-bcce-b302099a8058",
  name: "ops",
  addresses: ["ada@example.com", "bob@example.com"],
  publicUrl: "https://windlass.test",
};
const all = eventNames.flatMap((type) => [sampleEvent(type), hostileEvent(type)]);

/** All texts in a message, as its program shows them. */
const textsIn = (value: unknown): string[] =>
  typeof value === "string"
    ? [value]
    : value !== null && typeof value === "object"
      ? Object.values(value).flatMap(textsIn)
      : [];

describe("the sentence of an event", () => {
  test.each([
    [sampleEvent("job.queued"), "ada@example.com queued the DEPLOY of “network”."],
    [sampleEvent("job.succeeded"), "The DEPLOY of “network” succeeded (+1 ~2 −1)."],
    [
      sampleEvent("approval.needed", { data: { missing: 2 } }),
      "The DEPLOY of “network” needs 2 approvals by deployers (+1 ~2 −1).",
    ],
    [
      sampleEvent("approval.refused", { data: { comment: "not on Friday!" } }),
      "ada@example.com rejected the DEPLOY of “network”: not on Friday!",
    ],
    [
      sampleEvent("drift.found", { data: { resources: 1 } }),
      "“network” differs from what was deployed: 1 resource.",
    ],
    [
      sampleEvent("queue.stalled", { data: { minutes: 15, reason: "no runner has its labels" } }),
      "The DEPLOY of “network” has waited 15 minutes in the queue: no runner has its labels.",
    ],
    [
      sampleEvent("token.expires", {
        data: { token: { id: "1", name: "ci" }, expires_at: "2026-12-04T22:10:00.000Z" },
      }),
      "The access token “ci” expires at 2026-12-04 22:10 UTC.",
    ],
    [
      sampleEvent("audit.member.remove", {
        data: { target: { kind: "member", id: "1", name: "bob@example.com" } },
      }),
      "The audit log has member.remove of “bob@example.com” by ada@example.com.",
    ],
    [
      sampleEvent("schedule.skipped", {
        configuration: null,
        data: { schedule: { id: "1", name: "nightly" }, reason: "the last run has not ended" },
      }),
      "The schedule “nightly” skipped a run: the last run has not ended.",
    ],
  ])("$0.type", ({ text }, expected) => {
    expect(text).toBe(expected);
  });

  test("is one short line for every event, whatever its names are", () => {
    for (const event of all) {
      expect(event.text).toMatch(/^[^\p{Cc}\u2028\u2029\u202e\u2066]+[.!…]$/u);
      expect(event.text.length).toBeLessThan(1500);
      expect(event.text.isWellFormed()).toBe(true);
    }
    const without = { ...sampleEvent("job.failed"), configuration: null, job: null, actor: null };
    for (const type of eventNames) expect(eventText({ ...without, type })).toMatch(/^\S.*\.$/);
  });

  test("the event of a webhook is that of its schema", () => {
    const validate = validatorOf(NotificationEvent);
    for (const event of all) expect(validate(event)).toBeDefined();
  });
});

describe("a message in Slack", () => {
  test("keeps Slack's limits, and formats, links and mentions nothing", () => {
    for (const event of all) {
      const message = slackMessage(event);
      expect(JSON.stringify(message).length).toBeLessThan(40_000);
      const texts = textsIn(message).filter((text) => !text.startsWith("<https://windlass.test/"));
      for (const text of texts) expect(text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
      for (const block of message.blocks) {
        if (block.type !== "section") throw new Error(block.type);
        expect(block.fields?.length ?? 1).toBeLessThanOrEqual(10);
        for (const field of block.fields ?? []) {
          expect(field.type).toBe("plain_text");
          expect(field.text.length).toBeLessThanOrEqual(2000);
        }
        expect(block.text?.text.length ?? 0).toBeLessThanOrEqual(3000);
      }
    }
  });

  test("has the sentence, the facts and one link", () => {
    const { text, blocks } = slackMessage(sampleEvent("approval.needed", { data: { missing: 1 } }));
    expect(text).toBe("The DEPLOY of “network” needs 1 approval by a deployer (+1 ~2 −1).");
    expect(blocks).toMatchObject([
      { type: "section", text: { type: "plain_text", text, emoji: false } },
      {
        fields: expect.arrayContaining([
          { type: "plain_text", text: "Zone: production", emoji: false },
        ]),
      },
      {
        text: {
          type: "mrkdwn",
          text: "<https://windlass.test/jobs/01890a5d-ac96-774b-bcce-b302099a8057|Open the job>",
        },
      },
    ]);
  });

  test("cuts no entity in two", () => {
    const { text } = slackMessage({ ...sampleEvent("ping"), text: "<".repeat(2000) });
    expect(text).toMatch(/^(&lt;)+…$/);
  });
});

describe("a card in Teams", () => {
  test("is an Adaptive Card without fault, below the limit of Teams", () => {
    for (const event of all) {
      const { attachments } = teamsMessage(event);
      const context = new SerializationContext();
      const card = new AdaptiveCard();
      card.parse(JSON.parse(JSON.stringify(attachments[0]!.content)), context);
      expect(context.eventCount).toBe(0);
      expect(card.validateProperties().validationEvents).toEqual([]);
      expect(card.getItemCount()).toBeGreaterThan(4);
      expect(Buffer.byteLength(JSON.stringify(teamsMessage(event)))).toBeLessThan(28 * 1024);
    }
  });

  test("has names only where Teams reads no Markdown", () => {
    const { content } = teamsMessage(hostileEvent("deployed")).attachments[0]!;
    const { body, actions } = content;
    expect(new Set(body.map(({ type }) => type))).toEqual(new Set(["RichTextBlock"]));
    expect(JSON.stringify(actions)).not.toContain("evil");
    expect(actions).toEqual([
      {
        type: "Action.OpenUrl",
        title: "Open the job",
        url: "https://windlass.test/jobs/01890a5d-ac96-774b-bcce-b302099a8057",
      },
    ]);
  });
});

describe("a mail", () => {
  test("has no markup and no header of a name in it", () => {
    for (const event of all) {
      const { subject, html, headers, text } = mailOf(event, { ...rule, name: event.space.name });
      expect(subject.length).toBeLessThanOrEqual(200);
      for (const header of [subject, ...Object.values(headers)])
        expect(header).not.toMatch(/[\p{Cc}\u202e]/u);
      expect(html).not.toMatch(/<script|<!channel|href="https:\/\/evil/);
      expect(text.split("\n").some((line) => line.startsWith("Bcc:"))).toBe(false);
    }
  });

  test("says what has happened, where to look and why it came", () => {
    const mail = mailOf(sampleEvent("job.failed"), rule);
    expect(mail).toMatchObject({
      to: rule.addresses,
      subject: "[Platform] The DEPLOY of “network” failed.",
      messageId: `<evt_1.${rule.id}@windlass.test>`,
      headers: {
        "List-Id": `<${rule.id}.notifications.windlass.test>`,
        "Auto-Submitted": "auto-generated",
      },
    });
    for (const body of [mail.text, mail.html]) {
      expect(body).toContain("The DEPLOY of “network” failed.");
      expect(body).toContain("https://windlass.test/jobs/01890a5d-ac96-774b-bcce-b302099a8057");
      expect(body).toContain(`https://windlass.test/notifications/${rule.id}`);
    }
  });
});
