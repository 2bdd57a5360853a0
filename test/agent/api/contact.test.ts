import { expect, test } from "vitest";
import { Contact } from "../../../agent/api/contact.ts";

test("Contact is as old as the line that was silent longest, and a line that rests does not count", () => {
  let now = 0;
  const contact = new Contact(() => now);
  now = 10_000;
  expect(contact.silence()).toBe(10);
  contact.heard("heartbeat");
  expect(contact.silence()).toBe(10);
  contact.rest("claim");
  expect(contact.silence()).toBe(0);
  now = 15_000;
  contact.resume("claim");
  expect(contact.silence()).toBe(5);
  contact.heard("heartbeat");
  now = 18_000;
  expect(contact.silence()).toBe(3);
  // Asked again and not answered: the silence goes on.
  contact.resume("claim");
  expect(contact.silence()).toBe(3);
});
