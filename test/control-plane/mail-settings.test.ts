import { expect, test } from "vitest";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../../control-plane/config.ts";

const from = { WINDLASS_MAIL_FROM: "windlass@example.com" };

test.each([
  "mail.example.com",
  "http://a:s3cret@mail.example.com",
  "smtp://",
  "smtp://a:s3cret@mail.example.com/path",
  "smtp://a:s3cret@mail.example.com?x=1",
  "smtp://:s3cret@mail.example.com",
  "smtp://a:%zz-s3cret@mail.example.com",
])("the address %s of a mail server is refused, and not repeated", (url) => {
  const read = () => readConfig({ ...from, WINDLASS_SMTP_URL: url });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow("WINDLASS_SMTP_URL must be an address such as smtps://");
  expect(read).not.toThrow("s3cret");
});

test("a mail server needs a sender, and a sender without it has no effect", () => {
  expect(() => readConfig({ WINDLASS_SMTP_URL: "smtp://mail.example.com" })).toThrow(
    "WINDLASS_MAIL_FROM must be set too",
  );
  const bad = {
    WINDLASS_SMTP_URL: "smtp://mail.example.com",
    WINDLASS_MAIL_FROM: "a@b>\nBcc: c@d",
  };
  expect(() => readConfig(bad)).toThrow("WINDLASS_MAIL_FROM must be an e-mail address");
  expect(readConfig(from)).toMatchObject({
    mail: undefined,
    warnings: [expect.stringContaining("WINDLASS_MAIL_FROM has no effect")],
  });
  const { mail } = readConfig({ ...from, WINDLASS_SMTP_URL: "smtps://a:b%40c@[::1]:465" });
  expect(mail).toMatchObject({ from: from.WINDLASS_MAIL_FROM });
  expect(mail?.url.hostname).toBe("[::1]");
});
