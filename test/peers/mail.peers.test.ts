/** A rule by e-mail with mailpit, a real mail server that asks for a password. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { folderForFile } from "../helpers/machine/folders.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { addMember, addTeam } from "../helpers/people/teams.ts";
import { openPerson } from "../helpers/people/sign-in.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { lackOfProgram, skipAt } from "../helpers/project/tools.ts";

const lack = lackOfProgram("mailpit");
skipAt(lack);

const path = folderForFile();
let smtp = 0;
let api = "";
let mailpit: ChildProcess | undefined;
beforeAll(async () => {
  if (lack !== undefined) return;
  const users = join(path, "users");
  writeFileSync(users, "windlass:p@ss:w0rd\n");
  smtp = await freePort();
  const port = await freePort();
  api = `http://127.0.0.1:${port}/api/v1`;
  const places = ["--smtp", `127.0.0.1:${smtp}`, "--listen", `127.0.0.1:${port}`];
  const login = ["--smtp-auth-file", users, "--smtp-auth-allow-insecure"];
  const rest = [
    "--disable-version-check",
    "--smtp-disable-rdns",
    "--database",
    join(path, "mails.db"),
  ];
  mailpit = spawn("mailpit", [...places, ...login, ...rest], { stdio: "ignore" });
  while (
    !(await fetch(`${api}/info`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await sleep(50);
});
afterAll(async () => {
  if (!mailpit) return;
  const ended = once(mailpit, "exit");
  mailpit.kill();
  await ended;
});

const { plane } = planeForFile(() => ({
  WINDLASS_SMTP_URL: `smtp://windlass:p%40ss%3Aw0rd@127.0.0.1:${smtp}`,
  WINDLASS_MAIL_FROM: "windlass@example.com",
}));

interface Listed {
  readonly ID: string;
  readonly Subject: string;
}
const listed = async (): Promise<Listed[]> => {
  const response = await fetch(`${api}/messages`);
  return ((await response.json()) as { messages: Listed[] }).messages;
};
const mails = async (count: number): Promise<Listed[]> => {
  for (;;) {
    const found = await listed();
    if (found.length >= count) return found;
    await sleep(50);
  }
};
const read = async ({ ID }: Listed) => {
  const [message, headers] = await Promise.all(
    ["message", "message/X/headers"].map(async (place) =>
      (
        await fetch(`${api}/${place.replace("X", ID)}${place.includes("X") ? "" : `/${ID}`}`)
      ).json(),
    ),
  );
  return { ...(message as Message), headers: headers as Record<string, string[]> };
};
interface Message {
  readonly Text: string;
  readonly HTML: string;
  readonly From: { readonly Address: string; readonly Name: string };
  readonly To: readonly { readonly Address: string }[];
  readonly Cc: readonly unknown[];
  readonly Bcc: readonly unknown[];
}

test("an event arrives once, as text and as HTML, to members only", async () => {
  const admin = await openPerson(plane, "ada@example.com");
  const { slug, calls } = await addTeam(plane, admin);
  const bob = await addMember(plane, admin, slug, "deployer");
  const rule = { name: "mail", events: ["audit.zone.*"] };
  const to = (...addresses: string[]) => ({ kind: "email" as const, addresses });
  await expect(
    calls.call("createNotification", { body: { ...rule, to: to("eve@example.com") } }),
  ).rejects.toMatchObject({ status: 422 });
  const { id } = await calls.call("createNotification", {
    body: { ...rule, to: to(admin.email, bob.email) },
  });
  await calls.call("createZone", { body: { name: 'production <b>&"' } });

  const [first] = await mails(1);
  const mail = await read(first!);
  expect(mail.From).toMatchObject({ Address: "windlass@example.com", Name: "Windlass" });
  expect(mail.To.map(({ Address }) => Address)).toEqual([admin.email, bob.email]);
  expect([...mail.Cc, ...mail.Bcc]).toEqual([]);
  const text = 'The audit log has zone.create of “production <b>&"” by ada@example.com.';
  expect(first?.Subject).toBe(`[Platform] ${text}`);
  expect(mail.Text).toContain(text);
  expect(mail.HTML).toContain("zone.create of “production &lt;b&gt;&amp;&quot;”");
  expect(mail.headers).toMatchObject({
    "List-Id": [`<${id}.notifications.127.0.0.1>`],
    "Auto-Submitted": ["auto-generated"],
  });

  await calls.call("removeMember", { params: { slug, user_id: bob.id } });
  await calls.call("createZone", { body: { name: "second" } });
  const all = await mails(2);
  expect(all.map(({ Subject }) => Subject)).toHaveLength(2);
  expect((await read(all[0]!)).To.map(({ Address }) => Address)).toEqual([admin.email]);
  const deliveries = await calls.call("listDeliveries", { params: { id } });
  expect(deliveries.deliveries).toMatchObject([{ status: "delivered" }, { status: "delivered" }]);
});
