/** The tests that `npm run prove:mutants` runs against each mutant: those of the mutated modules alone. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: [
      "test/common/redaction/*.test.ts",
      "test/control-plane/domain/{approvals,job,roles,sign-in-allow}.test.ts",
    ],
    // What these measure, memory and held back bytes, is not that of instrumented code.
    testNamePattern: /^(?!.*of one megabyte)/,
  },
});
