/** Notification rules, over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { system } from "../../../../control-plane/services/audit/audit.ts";
import { recordEvent } from "../../../../control-plane/services/events/record.ts";
import { deliverNow } from "../../../../control-plane/services/notifications/deliver.ts";
import type { CreateNotification } from "../../../../protocol/notifications.ts";
import { smtpServer } from "../../../helpers/network/smtp-server.ts";
import { addMember, addTeam } from "../../../helpers/people/teams.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import type { Calls } from "../../../helpers/plane/calls.ts";
import { readRows, startPlane } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addSpec } from "../../../helpers/plane/rows.ts";

let mail: Awaited<ReturnType<typeof smtpServer>>;
beforeAll(async () => {
  mail = await smtpServer();
});
afterAll(() => mail[Symbol.asyncDispose]());

const { plane, it } = planeForFile(() => ({
  WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8",
  WINDLASS_SMTP_URL: mail.smtp.href,
  WINDLASS_MAIL_FROM: "windlass@example.com",
}));

const hook = {
  kind: "webhook",
  url: "https://hooks.example.com/windlass?token=planted-9f8e",
} as const;
const add = (client: Calls, change: Partial<CreateNotification> = {}) =>
  client.call("createNotification", {
    body: { name: "rule", events: ["job.failed"], to: hook, ...change },
  });
const refusal = (client: Calls, to: object) =>
  client.refusal("createNotification", {
    body: { name: "other", events: ["job.failed"], to: to as CreateNotification["to"] },
  });

describe("a notification rule", () => {
  it("keeps what it was made with, and shows its secret once", async ({ client }) => {
    const { secret, ...made } = await add(client);
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    expect(made).toMatchObject({
      name: "rule",
      events: ["job.failed"],
      to: { kind: "webhook", host: "hooks.example.com", url: hook.url },
      zone_id: null,
      configuration_id: null,
      enabled: true,
      stalled_minutes: 15,
      error: null,
      last_delivery: null,
    });
    expect(await client.call("getNotification", { params: { id: made.id } })).toEqual(made);
    expect((await client.call("listNotifications")).notifications).toEqual([made]);
    for (const text of [secret ?? "", "planted-9f8e"]) expect(await plane.holds(text)).toEqual([]);
    expect(
      await client.refusal("createNotification", {
        body: { name: "rule", events: ["job.failed"], to: hook },
      }),
    ).toBe("409 name_taken");
  });

  it("changes only what a request names, and is deleted with its deliveries", async ({
    owner,
    client,
    spec,
  }) => {
    const { id, secret: _, ...made } = await add(client);
    const params = { id };
    const body = { events: ["job.*", "deployed"], configuration_id: spec, stalled_minutes: 30 };
    const changed = await client.call("updateNotification", { params, body });
    expect(changed).toEqual({ ...made, ...body, id, updated_at: changed.updated_at });
    expect(await client.call("updateNotification", { params, body: {} })).toEqual(changed);
    const to = { url: "https://other.example.com/x" };
    expect((await client.call("updateNotification", { params, body: { to } })).to).toMatchObject({
      host: "other.example.com",
      url: to.url,
    });
    expect(
      await client.refusal("updateNotification", {
        params,
        body: { to: { kind: "slack", ...to } },
      }),
    ).toBe("400 invalid_request");
    await client.ask("deleteNotification", { params });
    expect(await client.refusal("getNotification", { params })).toBe("404 not_found");
    expect(await readRows(plane, "notification_rules", { owner_id: owner.id })).toEqual([]);
  });

  it("refuses what does not fit its kind, and addresses that may not be reached", async ({
    client,
  }) => {
    expect(await refusal(client, { kind: "webhook" })).toBe("400 invalid_request");
    expect(await refusal(client, { ...hook, addresses: ["a@example.com"] })).toBe(
      "400 invalid_request",
    );
    expect(await refusal(client, { kind: "email" })).toBe("400 invalid_request");
    expect(
      await refusal(client, { kind: "email", url: hook.url, addresses: ["a@example.com"] }),
    ).toBe("400 invalid_request");
    for (const url of [
      "https://10.0.0.1/x",
      "http://hooks.example.com/x",
      "https://169.254.169.254/",
    ])
      expect(await refusal(client, { kind: "slack", url })).toBe("422 destination_not_allowed");
    const unknown = { name: "x", events: ["job.exploded"], to: hook };
    expect(await client.refusal("createNotification", { body: unknown })).toBe(
      "400 invalid_request",
    );
    expect((await client.call("listNotifications")).notifications).toEqual([]);
  });

  it("is of things of its own space only, and of at most fifty in it", async ({
    client,
    otherOwner,
    otherClient,
  }) => {
    const spec = await addSpec(plane.context.store, otherOwner);
    for (const place of [{ configuration_id: spec }, { zone_id: otherOwner.zone }])
      await expect(add(client, place)).rejects.toMatchObject({ code: "not_found" });
    const { id } = await add(otherClient);
    expect(await client.refusal("getNotification", { params: { id } })).toBe("404 not_found");
    expect(await client.refusal("testNotification", { params: { id } })).toBe("404 not_found");
    for (let index = 0; index < 50; index += 1) await add(client, { name: `rule ${index}` });
    await expect(add(client, { name: "one more" })).rejects.toMatchObject({
      code: "quota_exceeded",
    });
  });

  it("shows an address to those who may configure, and none of Slack and Teams to anyone", async () => {
    const admin = await addTestUser(plane);
    const { slug, calls } = await addTeam(plane, admin);
    const viewer = await addMember(plane, admin, slug, "viewer");
    const url = "https://hooks.slack.example.com/services/planted";
    const made = [
      await add(calls),
      await add(calls, { name: "slack", to: { kind: "slack", url } }),
      await add(calls, { name: "teams", to: { kind: "teams", url } }),
    ];
    expect(made.map(({ to }) => to.url)).toEqual([hook.url, undefined, undefined]);
    expect(made.map(({ secret }) => secret === undefined)).toEqual([false, true, true]);
    const { notifications } = await viewer.calls.call("listNotifications");
    expect(notifications.map(({ to }) => to)).toEqual([
      { kind: "teams", host: "hooks.slack.example.com" },
      { kind: "slack", host: "hooks.slack.example.com" },
      { kind: "webhook", host: "hooks.example.com" },
    ]);
    const params = { id: made[0]!.id };
    expect(await viewer.calls.refusal("deleteNotification", { params })).toBe(
      "403 permission_denied",
    );
    const body = { overlap_seconds: 0 };
    expect(
      await calls.refusal("rotateNotificationSecret", { params: { id: made[1]!.id }, body }),
    ).toBe("400 invalid_request");
  });

  it("by mail leads to verified addresses of members, and no longer to one who has left", async () => {
    const admin = await addTestUser(plane);
    const { slug, calls } = await addTeam(plane, admin);
    const member = await addMember(plane, admin, slug, "viewer");
    const addresses = [member.email];
    await expect(
      add(calls, { to: { kind: "email", addresses: ["other@example.com"] } }),
    ).rejects.toMatchObject({ code: "destination_not_allowed", status: 422 });
    const { id, secret, to } = await add(calls, { to: { kind: "email", addresses } });
    expect([secret, to]).toEqual([undefined, { kind: "email", host: null, addresses }]);
    const happen = async () => {
      const { store, now } = plane.context;
      const [rule] = await readRows(plane, "notification_rules", { id });
      await store.write((tx) =>
        recordEvent(tx, now(), { type: "job.failed", owner: rule!.owner_id, by: system }),
      );
      await deliverNow(plane.context);
      const read = async () => (await calls.call("listDeliveries", { params: { id } })).deliveries;
      // The server of the plane delivers too.
      await expect.poll(async () => (await read())[0]?.status).not.toBe("retrying");
      const [last] = await read();
      return `${last?.status} ${last?.error}`;
    };
    expect(await happen()).toBe("delivered null");
    expect(mail.mails).toHaveLength(1);
    await calls.ask("removeMember", { params: { slug, user_id: member.owner.id } });
    expect(await happen()).toBe("given_up none of its addresses is a member's any more");
    // The admins are told once.
    expect(mail.commands.filter((line) => line.startsWith("RCPT"))).toEqual([
      `RCPT TO:<${member.email}>`,
      `RCPT TO:<${admin.email}>`,
    ]);
    expect(await happen()).toMatch(/^given_up/);
    expect(mail.mails).toHaveLength(2);
  });
});

test("a server without mail refuses rules of the kind email", async () => {
  const silent = await startPlane();
  try {
    const { client } = await addTestUser(silent);
    expect(silent.context.mail).toBeNull();
    expect(await refusal(client, { kind: "email", addresses: ["a@example.com"] })).toBe(
      "409 mail_not_configured",
    );
  } finally {
    await silent.close();
  }
});
