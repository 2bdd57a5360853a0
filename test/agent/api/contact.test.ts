import { expect, test } from "vitest";
import { Contact } from "../../../agent/api/contact.ts";

test("Contact.silence returns the longest silence of the active calls", () => {
  let now = 0;
  const contact = new Contact(() => now);
  now = 10_000;
  expect(contact.silence()).toBe(10);
  contact.heard("heartbeat");
  expect(contact.silence()).toBe(10);
  contact.pause("claim");
  expect(contact.silence()).toBe(0);
  now = 15_000;
  contact.resume("claim");
  expect(contact.silence()).toBe(5);
  contact.heard("heartbeat");
  now = 18_000;
  expect(contact.silence()).toBe(3);
  // A repeated call without a response does not end the silence.
  contact.resume("claim");
  expect(contact.silence()).toBe(3);
});
