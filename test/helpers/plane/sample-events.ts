/** Events as receivers get them, and one in which every name is hostile. */
import type { EventName, NotificationEvent } from "../../../protocol/notification-events.ts";
import {
  eventText,
  type UntoldEvent,
} from "../../../control-plane/services/notifications/event-text.ts";

const id = "01890a5d-ac96-774b-bcce-b302099a8057";
const url = "https://windlass.test";
const counts = { create: 1, update: 2, replace: 0, delete: 1, forget: 0, move: 0, import: 0 };

export function sampleEvent(
  type: EventName,
  changes: Partial<UntoldEvent> = {},
): NotificationEvent {
  const event: UntoldEvent = {
    id: "evt_1",
    type,
    time: "2026-11-27T22:10:00.000Z",
    sequence: 4711,
    space: { id, name: "Platform" },
    zone: { id, name: "production" },
    configuration: { id, name: "network", url: `${url}/configurations/${id}` },
    job: {
      id,
      job_type: "DEPLOY",
      status: "QUEUED",
      url: `${url}/jobs/${id}`,
      changes: counts,
      created_by: "ada@example.com",
    },
    actor: { kind: "user", name: "ada@example.com" },
    data: {},
    ...changes,
  };
  return { ...event, text: eventText(event) };
}

/** What a person or another system could call something to deceive its readers. */
const hostileName =
  "a<!channel> <@U1> <https://evil.test|Approve> [Approve](https://evil.test) *b* `c` <script>alert(1)</script>&amp;\r\nBcc: eve@evil.test\n\u202egnp.\u2066\u0000\u001b[31m\ud800";

const longName = hostileName.repeat(200).slice(0, 1000);

export function hostileEvent(type: EventName): NotificationEvent {
  const named = { id, name: hostileName };
  return sampleEvent(type, {
    space: named,
    zone: named,
    configuration: { ...named, url: `${url}/configurations/${id}` },
    actor: { kind: "connection", name: longName },
    data: {
      action: hostileName,
      target: { kind: "team", id, name: hostileName },
      comment: longName,
      reason: longName,
      worker: named,
      connection: named,
      schedule: named,
      token: named,
    },
  });
}
