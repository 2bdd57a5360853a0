/** Stands for the tests that would run again with OpenTofu, on a machine without one. */
import { test } from "vitest";
import { withEngine } from "./helpers/agent/engines.ts";

const suite = process.env["WINDLASS_TEST_SUITE"] as keyof typeof withEngine;

test.for<string>(withEngine[suite])(`test/${suite}/%s.test.ts with OpenTofu`, (_, { skip }) => {
  skip("needs an OpenTofu binary on the PATH or in WINDLASS_TEST_TOFU");
});
