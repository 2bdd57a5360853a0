import { describe, expect, it } from "vitest";
import {
  nextKey,
  publishedKeys,
  signingKey,
  unreadKey,
} from "../../../control-plane/domain/issuer-keys.ts";

const hour = 3_600_000;
const first = { name: "first", read_at: null };
const second = (read_at: number | null) => ({ name: "second", read_at });
const third = (read_at: number | null) => ({ name: "third", read_at });
const names = (keys: readonly { name: string }[]) => keys.map(({ name }) => name);

describe("the keys of the issuer", () => {
  it("sign at once if there is only one", () => {
    expect(signingKey([first], 0)).toBe(first);
    expect(names(publishedKeys([first], 1e15))).toEqual(["first"]);
    expect(unreadKey([first], 0)).toBeUndefined();
    expect(nextKey([first], 0)).toBeUndefined();
    expect(signingKey([], 0)).toBeUndefined();
  });

  it("sign an hour after they were read, and never unread", () => {
    const unread = [first, second(null)];
    expect(signingKey(unread, 1e15)?.name).toBe("first");
    expect(unreadKey(unread, 0)?.name).toBe("second");
    expect(names(publishedKeys(unread, 1e15))).toEqual(["first", "second"]);
    const read = [first, second(1000)];
    expect(unreadKey(read, 1000)).toBeUndefined();
    // The clock was ahead.
    expect(unreadKey(read, 999)?.name).toBe("second");
    expect(signingKey(read, 1000 + hour - 1)?.name).toBe("first");
    expect(nextKey(read, 1000 + hour - 1)?.name).toBe("second");
    expect(signingKey(read, 1000 + hour)?.name).toBe("second");
    expect(nextKey(read, 1000 + hour)).toBeUndefined();
  });

  it("are published for a day after another one has begun to sign", () => {
    const keys = [first, second(1000)];
    expect(names(publishedKeys(keys, 1000 + 25 * hour - 1))).toEqual(["first", "second"]);
    expect(names(publishedKeys(keys, 1000 + 25 * hour))).toEqual(["second"]);
    const three = [...keys, third(1000 + 20 * hour)];
    expect(names(publishedKeys(three, 1000 + 25 * hour))).toEqual(["second", "third"]);
    expect(names(publishedKeys(three, 1000 + 45 * hour))).toEqual(["third"]);
  });
});
