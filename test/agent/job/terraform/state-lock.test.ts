import { expect, test } from "vitest";
import { lockIdOf } from "../../../../agent/job/terraform/state-lock.ts";

test.each([
  [
    "the http backend, whose table has the caller's own ID",
    "Error message: HTTP remote state already locked:\n\u001b[31m│\u001b[0m \u001b[0mID=11111111-aaaa\nLock Info:\n  ID:        22222222-bbbb\n",
    "11111111-aaaa",
  ],
  [
    "any other backend, in colour",
    "\u001b[31m│\u001b[0m Lock Info:\n\u001b[31m│\u001b[0m   ID:        22222222-bbbb\n  Path:      x\n",
    "22222222-bbbb",
  ],
  ["another failure", "Error: Failed to load state: no such host\n", undefined],
])("lockIdOf finds the lock's ID in the error of %s", (_, text, id) => {
  expect(lockIdOf(text)).toBe(id);
});
