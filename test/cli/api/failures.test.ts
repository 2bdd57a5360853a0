import { expect, test } from "vitest";
import { toCliError } from "../../../cli/api/failures.ts";
import { ProblemError } from "../../../protocol/transport.ts";

test("the message of a refusal has its reason and one remedy", () => {
  const detail = "The configuration was changed after the plan was made, so plan again";
  const stale = new ProblemError(409, { code: "plan_is_stale", detail });
  expect(toCliError(stale, "https://windlass.example")).toMatchObject({
    message: `${detail}. Run: windlass jobs plan CONFIGURATION`,
  });
});
