import { expect, test } from "vitest";
import { planAgainCommand } from "../../../cli/plans/plan-again.ts";

const options = { destroy: false, refresh_only: false, targets: [], replace: [] };

test.each([
  [null, "windlass jobs plan app"],
  [{ ...options, destroy: true }, "windlass jobs destroy app"],
  [
    { ...options, destroy: true, targets: ["module.dns"] },
    "windlass jobs plan app --destroy --target module.dns",
  ],
  [
    { ...options, destroy: true, exclude: ["module.dns"] },
    "windlass jobs plan app --destroy --exclude module.dns",
  ],
  [{ ...options, refresh_only: true }, "windlass jobs plan app --refresh-only"],
  [{ ...options, replace: ["a.b[0]"] }, "windlass jobs plan app --replace 'a.b[0]'"],
])("a plan with the options %o is made again by: %s", (plan_options, command) => {
  expect(planAgainCommand({ plan_options, own_source: false }, "app")).toBe(command);
});

test("the name of a configuration is quoted for the shell", () => {
  expect(planAgainCommand({ plan_options: null, own_source: true }, "app")).toBe("windlass up");
  expect(planAgainCommand({ plan_options: null, own_source: false }, "it's new")).toBe(
    "windlass jobs plan 'it'\\''s new'",
  );
});
