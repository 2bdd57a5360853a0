import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../../agent/config.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const folder = folderForFile();

const url = { WINDLASS_URL: "https://windlass.example.com" };

describe("the settings of the agent", () => {
  test("have the documented defaults", () => {
    expect(readConfig({ ...url, PATH: "/bin" })).toMatchObject({
      concurrency: 1,
      labels: [],
      once: false,
      heartbeatSeconds: 30,
      grace: { init: 5000, plan: 30_000, apply: 600_000, kill: 10_000 },
      logLimitBytes: 256 * 1024 * 1024,
      path: "/bin",
      warnings: [],
    });
  });

  test("are read from the environment; an empty value counts as not set", () => {
    const config = readConfig({
      WINDLASS_URL: "http://localhost:8080/base/",
      WINDLASS_LABELS: "gpu, eu-west ,",
      WINDLASS_CONCURRENCY: "4",
      WINDLASS_ONCE: "1",
      WINDLASS_WORKER_NAME: "",
      HTTPS_PROXY: "http://proxy:3128",
      AWS_SECRET_ACCESS_KEY: "never",
    });
    expect(config).toMatchObject({
      url: "http://localhost:8080/base",
      labels: ["gpu", "eu-west"],
      concurrency: 4,
      once: true,
      network: { HTTPS_PROXY: "http://proxy:3128" },
    });
    expect(config.workerName).not.toBe("");
    expect(JSON.stringify(config)).not.toContain("never");
  });

  test("are read from a file or a systemd credential, without the last newline", () => {
    writeFileSync(join(folder, "WINDLASS_WORKER_TOKEN"), "wlw_from-credential\n");
    writeFileSync(join(folder, "file"), "from-file\n");
    const config = readConfig({
      ...url,
      WINDLASS_WORKER_ID: "018f",
      CREDENTIALS_DIRECTORY: folder,
      WINDLASS_REGISTRATION_TOKEN_FILE: join(folder, "file"),
    });
    expect(config).toMatchObject({
      workerToken: "wlw_from-credential",
      registrationToken: "from-file",
      warnings: [],
    });
  });

  test("warn about an unknown name, but not about a setting of another role", () => {
    const { warnings } = readConfig({
      ...url,
      WINDLASS_WORKDIR: "x",
      WINDLASS_PORT: "1",
      OTHER: "x",
    });
    expect(warnings).toEqual([
      "WINDLASS_WORKDIR is not a setting and is ignored: did you mean WINDLASS_WORK_DIR?",
    ]);
  });

  test("take the work directory from STATE_DIRECTORY of systemd", () => {
    expect(readConfig({ ...url, STATE_DIRECTORY: "/var/lib/a:/var/lib/b" }).workDir).toBe(
      "/var/lib/a",
    );
  });

  test.each([
    "http://localhost:8080",
    "http://127.0.0.1",
    "http://[::1]:8080",
    "https://example.com",
  ])("accept the server address %s", (WINDLASS_URL) =>
    expect(readConfig({ WINDLASS_URL }).url).toBe(WINDLASS_URL),
  );

  test("accept http to another machine with WINDLASS_ALLOW_HTTP=1", () => {
    const plain = { WINDLASS_URL: "http://windlass.example.com", WINDLASS_ALLOW_HTTP: "1" };
    expect(readConfig(plain)).toMatchObject({ url: plain.WINDLASS_URL, allowHttp: true });
  });

  test.each([
    [{}, /^WINDLASS_URL is not set/],
    [{ WINDLASS_URL: "windlass.example.com" }, /^WINDLASS_URL /],
    [{ WINDLASS_URL: "https://user:secret@example.com" }, /^WINDLASS_URL /],
    [
      { WINDLASS_URL: "http://windlass.example.com" },
      /^WINDLASS_URL must be an https address.*WINDLASS_ALLOW_HTTP=1/,
    ],
    [{ WINDLASS_URL: "http://127.0.0.1.example.com" }, /^WINDLASS_URL must be an https address/],
    [{ ...url, WINDLASS_CONCURRENCY: "0" }, /^WINDLASS_CONCURRENCY .*"0"/],
    [{ ...url, WINDLASS_CONCURRENCY: "many" }, /^WINDLASS_CONCURRENCY .*"many"/],
    [{ ...url, WINDLASS_APPLY_GRACE_SECONDS: "781" }, /^WINDLASS_APPLY_GRACE_SECONDS .*"781"/],
    [{ ...url, WINDLASS_ONCE: "perhaps" }, /^WINDLASS_ONCE /],
    [{ ...url, WINDLASS_LABELS: "a b" }, /^WINDLASS_LABELS /],
    [
      { ...url, WINDLASS_STATUS_ADDRESS: "127.0.0.1:99999" },
      /^WINDLASS_STATUS_ADDRESS .*"127.0.0.1:99999"/,
    ],
    [{ ...url, WINDLASS_LOG_LEVEL: "loud" }, /^WINDLASS_LOG_LEVEL /],
    [{ ...url, WINDLASS_ISOLATION: "vault" }, /^WINDLASS_ISOLATION .*"vault"/],
    [{ ...url, WINDLASS_JOB_UIDS: "70000" }, /^WINDLASS_JOB_UIDS .*"70000"/],
    [
      { ...url, WINDLASS_JOB_UIDS: "0-99" },
      /^WINDLASS_JOB_UIDS must be a range of user ids .*"\d+-\d+"/,
    ],
    [
      { ...url, WINDLASS_JOB_UIDS: "70099-70000" },
      /^WINDLASS_JOB_UIDS must be a range of user ids .*"\d+-\d+"/,
    ],
    [{ ...url, WINDLASS_JOB_PATHS: "/opt/ca,tools" }, /^WINDLASS_JOB_PATHS /],
    [{ ...url, WINDLASS_CONTAINER_IMAGE: "--privileged" }, /^WINDLASS_CONTAINER_IMAGE /],
    [{ ...url, WINDLASS_CONTAINER_ENGINE: "lxc" }, /^WINDLASS_CONTAINER_ENGINE .*"lxc"/],
    [{ ...url, WINDLASS_WORKER_ID: "x" }, /^WINDLASS_WORKER_ID and WINDLASS_WORKER_TOKEN/],
    [
      { ...url, WINDLASS_WORKER_TOKEN_FILE: "/nonexistent" },
      /^WINDLASS_WORKER_TOKEN_FILE cannot be read/,
    ],
  ])("reject %o with one line that names the setting", (environment, message) => {
    expect(() => readConfig(environment)).toThrow(ConfigError);
    expect(() => readConfig(environment)).toThrow(message);
  });

  test("do not repeat a secret in the error", () => {
    const tooLong = "s3cret".repeat(1000);
    expect(() =>
      readConfig({ ...url, WINDLASS_WORKER_ID: "x", WINDLASS_WORKER_TOKEN: tooLong }),
    ).toThrow(expect.not.stringContaining("s3cret") as never);
  });
});

describe("windlass agent", () => {
  test("ends with 78 and one line for a wrong setting", async () => {
    const result = await windlass(["agent"], {
      env: { PATH: process.env["PATH"] ?? "", WINDLASS_URL: "nowhere" },
      extendEnv: false,
    });
    expect(result.exitCode).toBe(78);
    expect(result.stderr).toMatch(/^windlass agent: WINDLASS_URL .*$/);
  });

  test.each(["/dev/null/agent", "/proc/agent"])(
    "ends with 78 and one line for a work directory that cannot be created: %s",
    async (WINDLASS_WORK_DIR) => {
      const env = { PATH: process.env["PATH"] ?? "", ...url, WINDLASS_WORK_DIR };
      const killed = { timeout: 50_000, killSignal: "SIGKILL" } as const;
      const result = await windlass(["agent"], { env, extendEnv: false, ...killed });
      expect(result.exitCode).toBe(78);
      expect(result.stderr).toMatch(/^windlass agent: .*mkdir '\/.*set WINDLASS_WORK_DIR.*$/);
    },
  );

  test.each([
    [["--bogus"], 'windlass agent has no option "--bogus"', "windlass agent"],
    [["bogus"], 'windlass agent has no command "bogus"', "windlass agent"],
    [
      ["doctor", "--bogus"],
      "windlass agent doctor: Unknown option '--bogus'",
      "windlass agent doctor",
    ],
    [
      ["install", "--bogus"],
      "windlass agent install: Unknown option '--bogus'",
      "windlass agent install",
    ],
  ])("ends with 2 for %o, and says where the help is", async (words, message, helped) => {
    const { exitCode, stderr } = await windlass(["agent", ...words]);
    expect(exitCode).toBe(2);
    const lines = (stderr as string).split("\n");
    expect(lines).toEqual([expect.stringContaining(message), `For help: ${helped} --help`]);
  });

  test("suggests the command that a misspelt one resembles", async () => {
    const { exitCode, stderr } = await windlass(["agent", "docter"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("Did you mean windlass agent doctor?");
  });
});
