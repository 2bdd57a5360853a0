/** docs/notifications.md against the declared events. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { validatorOf } from "../../../../control-plane/domain/validator-of.ts";
import { eventText } from "../../../../control-plane/services/notifications/event-text.ts";
import { happenings } from "../../../../protocol/happenings.ts";
import { NotificationEvent } from "../../../../protocol/notification-events.ts";
import { root } from "../../../helpers/project/source-files.ts";

const page = readFileSync(join(root, "docs/notifications.md"), "utf8");

test("the page lists every event, and says when it occurs", () => {
  const rows = Object.entries(happenings).map(([name, when]) => `| \`${name}\` | ${when} |`);
  expect(page).toContain(`| event | when |\n| --- | --- |\n${rows.join("\n")}\n`);
});

test("the body on the page is that of the schema, with the sentence of its event", () => {
  const [, block = ""] = /^```json\n(.*?)^```/ms.exec(page) ?? [];
  const event = JSON.parse(block) as NotificationEvent;
  expect(validatorOf(NotificationEvent)(event)).toEqual(event);
  expect(event.text).toBe(eventText(event));
});
