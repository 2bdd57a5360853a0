import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { seal, unseal } from "../../common/sealed-box.ts";
import { secretBox } from "../../control-plane/domain/secret-box.ts";

const key = randomBytes(32);
const opens = (by: Buffer, box: Buffer, about?: string): boolean => {
  try {
    unseal(by, box, about);
    return true;
  } catch {
    return false;
  }
};

it("opens what it sealed, and never seals to the same bytes twice", () => {
  for (const content of ["", "text", "x".repeat(100_000)]) {
    const box = seal(key, content, "row 1");
    expect(unseal(key, box, "row 1").toString()).toBe(content);
    expect(seal(key, content, "row 1").equals(box)).toBe(false);
  }
});

it("opens what earlier releases of the agent and the server sealed", () => {
  const ofAgent = Buffer.from("e0EpAaeFg/+H7Gy7CD+4YGjlxevkRdOvxW3oEKV2Dk9vew==", "base64");
  expect(unseal(Buffer.alloc(32, 7), ofAgent).toString()).toBe("learnt");
  const ofServer = Buffer.from("ARoYCRYRQUpeabux50jQ7/38EQe4U4rZ7J2M8IB/BOyX", "base64");
  const server = secretBox(["k".repeat(32)], "values");
  expect(server.open(ofServer, "row 1").toString()).toBe("kept");
});

it("refuses a box that was changed, truncated, moved or sealed with another key", () => {
  const box = seal(key, "content", "row 1");
  expect(opens(key, box, "row 1")).toBe(true);
  for (let at = 0; at < box.length; at += 1) {
    const changed = Buffer.from(box);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(opens(key, changed, "row 1")).toBe(false);
    expect(opens(key, box.subarray(0, at), "row 1")).toBe(false);
  }
  expect([opens(key, box, "row 2"), opens(key, box)]).toEqual([false, false]);
  expect(opens(randomBytes(32), box, "row 1")).toBe(false);
});
