import { describe, expect, test } from "vitest";
import { networkOf, refusalLimits } from "../../../control-plane/services/refusal-limit.ts";

describe("the limit of refusals", () => {
  test("ends one minute after the first refusal", () => {
    let now = 0;
    const limit = refusalLimits(2, { now: () => now }).of("key");
    limit.count();
    now = 59_000;
    limit.count();
    expect(() => limit.check()).toThrow(
      expect.objectContaining({ headers: { "retry-after": "1" } }),
    );
    now = 60_000;
    limit.check();
    limit.count();
    limit.check();
  });

  test("drops the oldest keys above 100,000, so that memory is bounded", () => {
    const limits = refusalLimits(1, { now: () => 0 });
    limits.of("first").count();
    for (let i = 0; i < 99_999; i += 1) limits.of(`${i}`).count();
    expect(() => limits.of("first").check()).toThrow("try again in 60 s");
    limits.of("one more").count();
    limits.of("first").check();
  });
});

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "::ffff:203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1:2::", "2001:db8:1:2"],
  ["2001:db8::5:6", "2001:db8:0:0"],
  ["::1", ":0:0:0"],
  ["no address", "no address"],
])("networkOf(%s) returns %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
