import { defineConfig } from "vitest/config";

/** `npm run prove`: the same tests in their long forms, which need more time. */
const proving = process.env["WINDLASS_PROVE"] === "1";

const project = (name: string, include: string[], timeout: number, more: object = {}) => ({
  extends: true as const,
  test: {
    name,
    include,
    ...more,
    testTimeout: proving ? 3_600_000 : timeout,
    hookTimeout: 60_000,
  },
});

export default defineConfig({
  test: {
    pool: "forks",
    // A test spends most of its time waiting for processes and disks, so more files than cores run at once. In CI nobody waits, and
    // a machine that is not overloaded judges better.
    maxWorkers: process.env["CI"] ? 2 : 3,
    setupFiles: ["test/helpers/nothing-left-behind.ts"],
    reporters: ["default", "./test/helpers/tally.ts"],
    projects: [
      project("unit", ["test/**/*.test.ts"], 20_000, {
        exclude: ["test/e2e/**", "test/browser/**"],
      }),
      project("e2e", ["test/e2e/**/*.test.ts"], 120_000),
      project("browser", ["test/browser/**/*.test.ts"], 60_000, {
        globalSetup: ["test/helpers/chromium-setup.ts"],
      }),
    ],
  },
});
