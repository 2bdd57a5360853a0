import { describe, expect, test } from "vitest";
import { openMailer, type Mail } from "../../../control-plane/outbound/mail.ts";
import { mailOf } from "../../../control-plane/services/notifications/messages/mail.ts";
import { smtpServer } from "../../helpers/network/smtp-server.ts";
import { hostileEvent } from "../../helpers/plane/sample-events.ts";

const from = "windlass@example.com";
const mail: Mail = {
  to: ["ada@example.com", "bob@example.com"],
  subject: "[Platform] “network” is deployed",
  text: "“network” is deployed.\n",
  html: "<p>“network” is deployed.</p>",
  messageId: "<evt_1.rule@windlass.test>",
  headers: { "List-Id": "<rule.notifications.windlass.test>", "Auto-Submitted": "auto-generated" },
};
const withLogin = (url: URL, user = "u%40x", password = "p%3Assw0rd"): URL => {
  const changed = new URL(url);
  changed.username = user;
  changed.password = password;
  return changed;
};

describe("a mail", () => {
  test("arrives with both parts, its headers, and a sender", async () => {
    await using server = await smtpServer();
    const mailer = openMailer({ url: server.smtp, from });
    expect(await mailer.send(mail)).toEqual({ refused: [] });
    const [got = ""] = server.mails;
    expect(server.mails).toHaveLength(1);
    expect(server.commands).toContain("MAIL FROM:<windlass@example.com>");
    expect(server.commands.filter((line) => line.startsWith("RCPT"))).toEqual([
      "RCPT TO:<ada@example.com>",
      "RCPT TO:<bob@example.com>",
    ]);
    expect(got).toMatch(/^From: Windlass <windlass@example\.com>\r$/m);
    expect(got).toMatch(/^Message-ID: <evt_1\.rule@windlass\.test>\r$/m);
    expect(got).toMatch(/^Auto-Submitted: auto-generated\r$/m);
    expect(got).toContain("Content-Type: text/plain; charset=utf-8");
    expect(got).toContain("Content-Type: text/html; charset=utf-8");
  });

  test("of hostile names has the headers that it should have, and no other", async () => {
    await using server = await smtpServer();
    const rule = {
      id: "1",
      name: "ops",
      addresses: ["ada@example.com"],
      publicUrl: "http://a.test",
    };
    await openMailer({ url: server.smtp, from }).send(mailOf(hostileEvent("deployed"), rule));
    const [got = ""] = server.mails;
    const head = got.slice(0, got.indexOf("\r\n\r\n"));
    const names = [...head.matchAll(/^([\w-]+):/gm)].map(([, name]) => name!.toLowerCase());
    expect(names.toSorted()).toEqual(
      [
        "from",
        "to",
        "subject",
        "message-id",
        "date",
        "mime-version",
        "content-type",
        "list-id",
        "auto-submitted",
        "x-auto-response-suppress",
      ].toSorted(),
    );
    expect(server.commands.filter((line) => line.startsWith("RCPT"))).toHaveLength(1);
  });

  test("to some whom the server refuses goes to the others, and says to whom not", async () => {
    await using server = await smtpServer({
      replies: { "RCPT TO:<bob": "550 5.1.1 no such user" },
    });
    const mailer = openMailer({ url: server.smtp, from });
    expect(await mailer.send(mail)).toEqual({ refused: ["bob@example.com"] });
    expect(server.mails).toHaveLength(1);
  });
});

describe("a mail server that does not take it", () => {
  test.each([
    ["replies", { "RCPT TO": "550 5.7.1 not from you" }, "replied: 550 5.7.1 not from you"],
    ["hangs", { "MAIL FROM": null }, "took too long"],
  ])("%s, and the error says so", async (_, replies, message) => {
    await using server = await smtpServer({ replies });
    const mailer = openMailer({ url: server.smtp, from }, 300);
    await expect(mailer.send(mail)).rejects.toThrow(`the mail server ${message}`);
    expect(server.mails).toEqual([]);
  });

  test("that is not there is an error without its address", async () => {
    const server = await smtpServer();
    const { smtp } = server;
    await server[Symbol.asyncDispose]();
    await expect(openMailer({ url: smtp, from }).send(mail)).rejects.toThrow(
      /^the mail server cannot be reached \(\w+\)$/,
    );
  });

  test("refuses the credentials, which no message repeats", async () => {
    await using server = await smtpServer({
      offers: ["AUTH PLAIN"],
      replies: { AUTH: "535 5.7.8 wrong: dUB4AHA6c3N3MHJk p:ssw0rd" },
    });
    const sent = openMailer({ url: withLogin(server.smtp), from }).send(mail);
    await expect(sent).rejects.toThrow("refuses the credentials (535)");
    await expect(sent).rejects.not.toThrow("ssw0rd");
    const plain = server.commands.find((line) => line.startsWith("AUTH PLAIN")) ?? "";
    expect(Buffer.from(plain.slice("AUTH PLAIN ".length), "base64").toString()).toBe(
      "\u0000u@x\u0000p:ssw0rd",
    );
  });

  test("offers TLS and fails at it gets no mail in plain text", async () => {
    await using server = await smtpServer({
      offers: ["STARTTLS"],
      replies: { STARTTLS: "454 4.7.0 not available" },
    });
    const sent = openMailer({ url: server.smtp, from }).send(mail);
    await expect(sent).rejects.toThrow("offers no TLS that can be trusted");
    expect(server.mails).toEqual([]);
    expect(server.commands.some((line) => line.startsWith("MAIL"))).toBe(false);
  });
});
