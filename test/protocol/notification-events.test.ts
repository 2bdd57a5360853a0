import { expect, test } from "vitest";
import { auditActions } from "../../protocol/audit.ts";
import { happenings, happeningWords } from "../../protocol/happenings.ts";
import { eventNames, eventSelections, selects } from "../../protocol/notification-events.ts";
import { CreateNotification } from "../../protocol/notifications.ts";
import { validatorOf } from "../../control-plane/domain/validator-of.ts";

const rule = (...events: string[]) => ({
  name: "ops",
  events,
  to: { kind: "webhook", url: "https://hooks.example.com/a?b=c" },
});
const validate = validatorOf(CreateNotification);
const refusalOf = (input: unknown): string => {
  try {
    validate(input);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
};

test("a rule selects events by their names and by the beginning of names", () => {
  expect(refusalOf(rule("ping", "job.failed", "job.*", "audit.*", "audit.member.*"))).toBe("");
  for (const wrong of ["*", "job", "job.", "jobs.*", "job.faile", "deployed.*", "audit.member"])
    expect(`${wrong}: ${refusalOf(rule(wrong))}`).toContain("the name of an event such as");
  expect(eventNames.filter((name) => selects("approval.*", name))).toEqual([
    "approval.needed",
    "approval.given",
    "approval.refused",
  ]);
  expect(eventNames.filter((name) => selects("deployed", name))).toEqual(["deployed"]);
  expect(eventNames.filter((name) => selects("audit.*", name))).toHaveLength(auditActions.length);
  expect(eventSelections.every((one) => eventNames.some((name) => selects(one, name)))).toBe(true);
});

test("each selection says in words when it applies", () => {
  expect(happeningWords("approval.needed")).toBe("an approval is needed");
  expect(happeningWords("audit.team.create")).toBe("the audit log records team.create");
  expect(happeningWords("job.*")).toBe("any event whose name begins with job.");
  for (const name of Object.keys(happenings)) expect(happeningWords(name)).toMatch(/^an? |^the /);
});

test("an address has no user name, fragment or space, and its scheme is http or https", () => {
  const withUrl = (url: string) => ({ ...rule("ping"), to: { kind: "webhook", url } });
  expect(refusalOf(withUrl("https://a.test:8443?sig=%20x"))).toBe("");
  for (const wrong of [
    "ftp://a.test",
    "https://u@a.test/",
    "https://a.test/#b",
    "https://a.test/ b",
  ])
    expect(`${wrong}: ${refusalOf(withUrl(wrong))}`).toContain("an address such as");
});
