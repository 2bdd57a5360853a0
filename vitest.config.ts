import { availableParallelism } from "node:os";
import { delimiter, dirname } from "node:path";
import { defineConfig } from "vitest/config";
import { realTofu, withEngine } from "./test/helpers/agent/engines.ts";

/** `npm run prove`: the same tests in their long forms, which need more time. */
const proving = process.env["WINDLASS_PROVE"] === "1";

const minute = 60_000;

/** `npm run test:postgres`: control planes of the unit tests run on PostgreSQL. */
const onPostgres = process.env["WINDLASS_TEST_STORE"] === "postgres";

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

const tofu = realTofu();

/** Repeats the tests in which jobs run an engine with OpenTofu; without one, counts them as not run. */
const withTofu = (suite: keyof typeof withEngine) =>
  tofu === undefined
    ? project(`${suite}-tofu`, ["test/without-tofu.test.ts"], {
        env: { WINDLASS_TEST_SUITE: suite },
      })
    : project(
        `${suite}-tofu`,
        withEngine[suite].map((name) => `test/${suite}/${name}.test.ts`),
        {
          env: {
            WINDLASS_TEST_ENGINE: "opentofu",
            // It warns on stdout, amid JSON, if the file that this names is missing.
            TF_CLI_CONFIG_FILE: "/dev/null",
            PATH: [dirname(tofu), process.env["PATH"]].join(delimiter),
          },
        },
      );

export default defineConfig({
  test: {
    pool: "forks",
    // Files share a process: loading the control plane costs more than most of them. What one
    // leaves behind fails that file.
    isolate: false,
    // A test spends much of its time waiting for processes and disks, so more files than cores run
    // at once.
    maxWorkers: availableParallelism() + 2,
    setupFiles: ["test/helpers/setup/leak-check.ts"],
    // On a busy machine real processes now and then break an assumption of a test. CI gives such a
    // test one more attempt and names it in its summary. Everywhere else it fails at once.
    retry: process.env["CI"] ? 1 : 0,
    reporters: ["default", "./test/helpers/setup/test-summary.ts"],
    projects: [
      // In one process: functions, and a control plane over real HTTP and SQLite.
      project("unit", ["test/**/*.test.ts"], {
        exclude: [
          "test/{e2e,browser,acceptance,faults,peers,machine}/**",
          "test/**/*.process.test.ts",
          "test/without-tofu.test.ts",
        ],
        setupFiles: ["test/helpers/setup/no-process.ts"],
        ...(onPostgres ? { globalSetup: ["test/helpers/setup/postgres-setup.ts"] } : {}),
      }),
      // With real processes that are started, killed and watched: the server, the agent, the
      // client, git, shells.
      project("process", ["test/**/*.process.test.ts"]),
      // From a person's call to what terraform did: server, agent, client and real terraform
      // together.
      project("e2e", ["test/e2e/**/*.test.ts"]),
      withTofu("e2e"),
      // In a real Chromium.
      project("browser", ["test/browser/**/*.test.ts"], {
        globalSetup: ["test/helpers/setup/chromium-setup.ts"],
      }),
      // The two projects that CI runs after `npm test`, because they take longer than it. What
      // users do, by the documents: sign-in, the README, the demo, every command and engine, every
      // kind of source, the console through a whole deployment, the accessibility of every page,
      // doctor, backup and restore, the package, the published interface.
      project("acceptance", ["test/acceptance/**/*.test.ts"], {
        globalSetup: ["test/helpers/setup/chromium-setup.ts"],
      }),
      withTofu("acceptance"),
      // Jobs under attack: processes killed, calls lost, servers away, hostile configurations, full
      // disks.
      project("faults", ["test/faults/**/*.test.ts"]),
      withTofu("faults"),
      // With real programs of others that are installed for it: a container engine, reverse proxies,
      // an object store, on which two files of the other projects run again. One file at a time, so
      // that the image is built once.
      project(
        "peers",
        [
          "test/peers/**/*.test.ts",
          "test/acceptance/s3-blobs.test.ts",
          "test/faults/object-store-away.test.ts",
        ],
        { maxWorkers: 1, env: { WINDLASS_TEST_S3: "versitygw" } },
      ),
      // On a Debian with systemd that is booted for it in an emulator: ten minutes on an idle machine.
      project("machine", ["test/machine/**/*.test.ts"]),
    ],
  },
});
