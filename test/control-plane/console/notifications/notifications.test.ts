/** The pages of notification rules, with a receiver that answers as told. */
import { createServer } from "node:http";
import { afterAll, beforeAll, expect } from "vitest";
import { attributes, words } from "../../../helpers/console/forms.ts";
import { listen, type Listening } from "../../../helpers/network/listen.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { setRows } from "../../../helpers/plane/plane.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane, it } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

let receiver: Listening;
let status = 204;
const got: { readonly type: string }[] = [];
beforeAll(async () => {
  receiver = await listen(
    createServer((request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        got.push(JSON.parse(body) as { type: string });
        response.writeHead(status).end();
      });
    }),
  );
});
afterAll(() => receiver[Symbol.asyncDispose]());

const rule = (changes: Record<string, string | string[]> = {}) => ({
  name: "on call",
  kind: "webhook",
  url: `${receiver.url}/hook`,
  events: ["job.failed", "approval.needed"],
  more_events: "audit.member.*\r\n\r\n approval.needed ",
  place: "",
  stalled_minutes: "",
  ...changes,
});

it("is made by the form, shows its secret once, and sends a test", async () => {
  const user = await openSampleUser(plane);
  const none = words(await user.page("/notifications"));
  expect(none).toContain("No rule yet Make one, and choose the events");
  const made = await user.post("/notifications/new", rule());
  expect(words(made)).toMatch(/Signing secret whsec_[\w+/]{43}= /);
  const { notifications } = await user.client.call("listNotifications");
  expect(notifications).toMatchObject([
    { events: ["job.failed", "approval.needed", "audit.member.*"], stalled_minutes: 15 },
  ]);
  const path = `/notifications/${notifications[0]?.id}`;
  expect(words(await user.page(path))).not.toContain("whsec_");

  const tested = words(await user.post(`${path}/test`));
  expect(tested).toMatch(/It arrived: the answer was 204, after \S+ s\./);
  status = 500;
  const failed = await user.post(`${path}/test`);
  expect(words(failed)).toContain("It did not arrive. HTTP 500.");
  expect(words(failed)).toContain("on call Last attempt failed");
  status = 204;
  const before = got.length;
  const [action = ""] = attributes(failed, "form[action$=redeliver]", "action");
  expect(words(await user.post(action))).toContain("It arrived");
  expect(got.slice(before)).toMatchObject([{ type: "ping" }]);
  expect(words(await user.page("/notifications"))).toMatch(/on call Working Webhook, 127\.0\.0\.1/);

  const rotated = words(await user.post(`${path}/rotate`, { overlap_seconds: "3600" }));
  expect(rotated).toMatch(/Signing secret whsec_/);
});

it("is refused with the field that is wrong, and keeps what was entered", async () => {
  const user = await openSampleUser(plane);
  const refused = await user.post(
    "/notifications/new",
    rule({ events: [], more_events: "jobs.*" }),
  );
  expect(refused.status).toBe(400);
  expect(words(refused)).toContain("Nothing was changed. See the marked fields below.");
  expect(words(refused)).toContain("the name of an event such as job.failed");
  expect(attributes(refused, "input[name=url]", "value")).toEqual([`${receiver.url}/hook`]);
  const mail = rule({ kind: "email", addresses: "ada@example.com" });
  expect(words(await user.post("/notifications/new", mail))).toContain("This server sends no mail");
  const away = rule({ url: "https://10.0.0.1/" });
  const forbidden = await user.post("/notifications/new", away);
  expect(forbidden.status).toBe(422);
  expect((await user.client.call("listNotifications")).notifications).toEqual([]);
});

it("of a channel never shows the address, and keeps it when the field stays empty", async () => {
  const user = await openSampleUser(plane);
  const slack = rule({ kind: "slack", url: `${receiver.url}/services/s3cret` });
  await user.post("/notifications/new", slack);
  const [{ id } = { id: "" }] = (await user.client.call("listNotifications")).notifications;
  const path = `/notifications/${id}`;
  const refused = await user.post("/notifications/new", {
    ...slack,
    name: "other",
    events: [],
    more_events: "",
  });
  for (const page of [await user.page(path), refused]) expect(page.body).not.toContain("s3cret");
  await user.post(path, rule({ name: "renamed", url: "", place: `zone:${user.owner.zone}` }));
  expect(await user.client.call("getNotification", { params: { id } })).toMatchObject({
    name: "renamed",
    zone_id: user.owner.zone,
    to: { kind: "slack", host: new URL(receiver.url).host },
  });
  const before = got.length;
  await user.post(`${path}/test`);
  expect(got).toHaveLength(before + 1);
});

it("that the server has disabled is in the overview, until it is enabled again", async () => {
  const user = await openSampleUser(plane);
  await user.post("/notifications/new", rule());
  const [{ id } = { id: "" }] = (await user.client.call("listNotifications")).notifications;
  const gone = { enabled: 0 as const, error: "HTTP 410", error_since: plane.context.now() };
  await setRows(plane, "notification_rules", gone, { id });
  const inbox = await user.page("/");
  expect(words(inbox)).toContain("on call The rule has been disabled, and nothing sent");
  expect(attributes(inbox, "a", "href")).toContain(`/notifications/${id}`);
  expect(words(await user.page(`/notifications/${id}`))).toContain("HTTP 410.");
  await user.post(`/notifications/${id}/enable`);
  expect(words(await user.page("/"))).not.toContain("on call");
  await user.post(`/notifications/${id}/disable`);
  const off = words(await user.page("/notifications"));
  expect(off).toContain("on call Disabled");
  await user.post(`/notifications/${id}/delete`);
  expect(words(await user.page("/notifications"))).toContain("No rule yet");
});
