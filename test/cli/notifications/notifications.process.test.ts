/** Notification rules in the client, with a receiver that answers as told. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Delivery, Notification } from "../../../protocol/notifications.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { windlass } from "../../helpers/cli/windlass.ts";
import { listen, type Listening } from "../../helpers/network/listen.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";

const got: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
let status = 204;
let receiver: Listening;
beforeAll(async () => {
  receiver = await listen(
    createServer((request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        got.push({ headers: request.headers, body });
        response.writeHead(status).end();
      });
    }),
  );
});
afterAll(() => receiver[Symbol.asyncDispose]());

const { plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });
const create = ["notifications", "create"];

test("a webhook is made, tested, changed and deleted, and its secret is shown once", async () => {
  await using ada = await userMachine(plane);
  const url = `${receiver.url}/hook?key=1`;
  expect(await ada.run(...create, "ops", "--to", "webhook", "--url", url)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("Name at least one event"),
  });
  const wrong = await ada.run(...create, "ops", "--to", "webhook", "--url", url, "--event", "jobs");
  expect(wrong.stderr).toContain("the name of an event such as job.failed");
  const made = await ada.run(
    ...create,
    "ops",
    "--to",
    "webhook",
    "--url",
    url,
    "--event",
    "job.*",
    "--event",
    "approval.needed",
  );
  expect(made).toMatchObject({ exitCode: 0 });
  expect(made.stdout).toMatch(/^secret {3}whsec_[\w+/]{43}=$/m);
  expect(made.stdout).toMatch(/^ +approval\.needed: an approval is needed$/m);
  expect(made.stderr).toContain("windlass notifications test ops");

  const tested = await ada.run("notifications", "test", "ops");
  expect(tested).toMatchObject({ exitCode: 0, stderr: "" });
  expect(tested.stdout).toMatch(/^status +delivered \(204\)$/m);
  const [ping] = got.splice(0);
  expect(JSON.parse(ping?.body ?? "")).toMatchObject({ type: "ping" });
  expect(ping?.headers["webhook-signature"]).toMatch(/^v1,/);

  status = 500;
  const failed = await ada.run("notifications", "test", "ops");
  expect(failed).toMatchObject({ exitCode: 1, stderr: "windlass: It did not arrive." });
  status = 204;
  const [last] = await ada.json<Delivery[]>("notifications", "deliveries", "ops");
  expect(last).toMatchObject({ event: "ping", response_status: 500 });
  const table = await ada.run("notifications", "deliveries", "ops", "--status", "delivered");
  expect(table.stdout).toMatch(/ ping +delivered \(204\) /);
  const again = await ada.run("notifications", "redeliver", "ops", last!.id);
  expect(again).toMatchObject({ exitCode: 0 });
  expect(got.at(-1)?.headers["webhook-id"]).toBe(last!.event_id);

  const rotated = await ada.run("notifications", "rotate-secret", "ops", "--overlap", "60");
  expect(rotated.stdout).toMatch(/^secret {3}whsec_\S+$/m);
  expect(rotated.stderr).toContain("within 60 seconds");
  await ada.run("notifications", "test", "ops");
  expect(got.at(-1)?.headers["webhook-signature"]).toMatch(/^v1,\S+ v1,\S+$/);

  const changed = ["update", "ops", "--event", "deployed", "--disable", "--stalled", "5"];
  expect(await ada.run("notifications", ...changed)).toMatchObject({ exitCode: 0 });
  expect(await ada.json<Notification>("notifications", "show", "ops")).toMatchObject({
    events: ["deployed"],
    enabled: false,
    stalled_minutes: 5,
    to: { kind: "webhook", url },
  });
  expect(await ada.run("notifications", "update", "ops")).toMatchObject({ exitCode: 2 });
  expect(await ada.run("notifications", "delete", "ops", "--yes")).toMatchObject({
    exitCode: 0,
    stderr: 'The notification rule "ops" is deleted.',
  });
});

test("the address of a channel comes from stdin, and is shown nowhere", async () => {
  await using ada = await userMachine(plane);
  const args = [...create, "alerts", "--to", "slack", "--event", "job.failed"];
  const url = `${receiver.url}/services/T0/B0/s3cret`;
  expect(await ada.run(...args, "--url", url)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("The address of a channel is a secret"),
  });
  const { exitCode, stdout, stderr } = await windlass(args, {
    env: ada.environment,
    input: `${url}\n`,
  });
  expect(exitCode).toBe(0);
  const shown = await ada.run("notifications", "show", "alerts");
  expect(shown.stdout).toContain(`to             slack, 127.0.0.1:${receiver.port}`);
  expect(`${String(stdout)}${String(stderr)}${String(shown.stdout)}`).not.toContain("s3cret");
  await ada.run("notifications", "test", "alerts");
  expect(JSON.parse(got.at(-1)?.body ?? "")).toMatchObject({
    text: "This is a test of a notification rule.",
  });
});

test("without a mail server a rule by e-mail is refused, with what the operator can do", async () => {
  await using ada = await userMachine(plane);
  const args = [...create, "mail", "--to", "email", "--event", "job.failed"];
  expect(await ada.run(...args)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("Name at least one recipient"),
  });
  expect(await ada.run(...args, "--address", "ada@example.com")).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("WINDLASS_SMTP_URL"),
  });
});
