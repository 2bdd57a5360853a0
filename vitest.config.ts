import { defineConfig } from "vitest/config";

/** `npm run prove`: the same tests in their long forms, which need more time. */
const proving = process.env["WINDLASS_PROVE"] === "1";

const minute = 60_000;

/** No test is judged by how fast the machine is: a time limit is there to end what hangs. */
const project = (name: string, include: string[], more: object = {}) => ({
  extends: true as const,
  test: {
    name,
    include,
    ...more,
    testTimeout: (proving ? 60 : 5) * minute,
    hookTimeout: 5 * minute,
    expect: { poll: { timeout: 2 * minute, interval: 20 } },
  },
});

export default defineConfig({
  // Scripts of the pages import it by its address.
  resolve: { alias: { "/assets/ansi-sequence-parser.js": "ansi-sequence-parser" } },
  test: {
    pool: "forks",
    // Files share a process: loading the control plane costs more than most of them. What one leaves behind fails that file.
    isolate: false,
    // A test spends most of its time waiting for processes and disks, so more files than cores run at once. CI can wait, and
    // a machine that is not overloaded judges better.
    maxWorkers: process.env["CI"] ? 2 : 3,
    setupFiles: ["test/helpers/leak-check.ts"],
    reporters: ["default", "./test/helpers/test-summary.ts"],
    projects: [
      // In one process: functions, and a control plane over real HTTP and SQLite.
      project("unit", ["test/**/*.test.ts"], {
        exclude: ["test/{e2e,faults,browser}/**", "test/**/*.process.test.ts"],
        setupFiles: ["test/helpers/no-process.ts"],
      }),
      // With real processes that are started, killed and watched: the server, the agent, the client, git, shells.
      project("process", ["test/**/*.process.test.ts"]),
      // From a person's call to what terraform did: server, agent, client and real terraform together.
      project("e2e", ["test/e2e/**/*.test.ts"]),
      // Real jobs under attack: processes killed, calls lost, servers away, hostile configurations. Not part of `npm test`.
      project("faults", ["test/faults/**/*.test.ts"]),
      // In a real Chromium.
      project("browser", ["test/browser/**/*.test.ts"], {
        globalSetup: ["test/helpers/chromium-setup.ts"],
      }),
    ],
  },
});
