import { expect, test } from "vitest";
import { approversText, idleApprovalsText, stateWords } from "../../protocol/words.ts";

const rule = { when: "always", count: 2, by_author: false } as const;
const approve = { decision: "approve" } as const;

test.each([
  { missing: 2, given: [], text: null },
  { missing: 1, given: [approve], text: null },
  { missing: 2, given: [approve], text: "1 approval does not count: " },
  { missing: 2, given: [approve, approve], text: "2 approvals do not count: " },
  { missing: 2, given: [{ decision: "reject" } as const], text: null },
  { missing: 0, given: [approve, approve, approve], text: null },
])("of $given, with $missing missing, those that do not count are named", (one) => {
  const text = idleApprovalsText({ rule, missing: one.missing }, one.given);
  if (one.text === null) expect(text).toBeNull();
  else expect(text).toContain(one.text);
});

test("who can approve a deployment is named, and what an admin can do where there are too few", () => {
  const need = { rule, missing: 2, approvers: ["a", "b"], more_approvers: false };
  expect(approversText(need)).toBe("a or b can approve it.");
  const few = (count: number, by_author: boolean, approvers = ["a"]): string =>
    approversText({ ...need, rule: { ...rule, count, by_author }, approvers });
  const member = ", or in a team give another member the role deployer.";
  expect(few(1, false, [])).toBe(
    `No member can approve it: an admin can change the rule, to let the authors approve${member}`,
  );
  expect(few(2, false)).toBe(
    `Only a can approve it: an admin can change the rule, to let the authors approve or to ask for fewer approvals${member}`,
  );
  expect(few(2, true)).toBe(
    `Only a can approve it: an admin can change the rule, to ask for fewer approvals${member}`,
  );
  expect(few(1, true, [])).toBe(`No member can approve it: an admin can remove the rule${member}`);
});

test("where the state is follows what the server says, else the choice", () => {
  expect(stateWords({ state_backend: "managed" })).toBe("managed by the control plane");
  expect(stateWords({ state_backend: "own" })).toBe("in the backend that its files declare");
  expect(stateWords({ state_backend: null })).toMatch(
    /^decided by the next deployment: .*, else managed/,
  );
  expect(stateWords({ backend: "own" })).toBe("in the backend that its files declare");
  expect(stateWords({})).toMatch(/^decided/);
});
