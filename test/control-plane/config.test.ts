import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../../control-plane/config.ts";
import { startServer } from "../../control-plane/server.ts";
import { folderForEachTest } from "../helpers/machine/folders.ts";

const key = "k".repeat(40);
let directory: string;
folderForEachTest((path) => {
  directory = path;
});

describe("a setting", () => {
  test.each([
    ["WINDLASS_PORT", ["80.5", "-1", "65536", "http", "NaN"]],
    [
      "WINDLASS_TRUSTED_PROXIES",
      ["foo", "10.0.0.0/33", "10.0.0.0/8/8", "::1/129", "10.0.0.1,proxy"],
    ],
    [
      "WINDLASS_PUBLIC_URL",
      ["windlass.example.com", "ftp://windlass.example.com", "https://a/?b", "https://a/windlass/"],
    ],
    [
      "WINDLASS_DATABASE_URL",
      [
        "postgres://localhost",
        "postgres://a:b/c@localhost/windlass",
        "mysql://localhost/windlass",
        "sqlite:",
        "windlass.db",
      ],
    ],
    ["WINDLASS_DATABASE_OWNER_URL", ["sqlite:/srv/windlass.db"]],
    ["WINDLASS_ARTIFACTS_URL", ["s3://", "s3://B/x", "s3://bucket?x=1", "file:", "blobs"]],
    ["WINDLASS_S3_ENCRYPTION", ["none"]],
    ["CLI_JWT_SECRET", ["short"]],
    ["RELEASE_API_SECRET", ["short"]],
    ["WINDLASS_SECRET_KEY", ["short"]],
    ["WINDLASS_SECRET_KEY_OLD", ["short", `${key},short`]],
    ["WINDLASS_SECRET_KEY_FILE", ["/nowhere/at/all"]],
    ["WINDLASS_HEARTBEAT_SECONDS", ["0", "3601", "30s"]],
    ["WINDLASS_OFFLINE_SECONDS", ["0", "x"]],
    ["WINDLASS_LOST_SECONDS", ["0", "x"]],
    ["WINDLASS_REQUEST_SECONDS", ["0", "301"]],
    ["WINDLASS_DRAIN_SECONDS", ["0", "Infinity"]],
    ["WINDLASS_RETENTION_LOG_DAYS", ["0", "-1", "never"]],
    ["WINDLASS_RETENTION_ARTIFACT_DAYS", ["0"]],
    ["WINDLASS_RETENTION_ARCHIVE_DAYS", ["30"]],
    ["WINDLASS_RETENTION_STATE_DAYS", ["0"]],
    ["WINDLASS_RETENTION_STATE_VERSIONS", ["100"]],
    ["WINDLASS_TEST_LIMITS", ["{", "1", "[1]", '{"streamsPerPerson": 0}', '{"other": 1}']],
    ["WINDLASS_LOG_LEVEL", ["loud"]],
    ["WINDLASS_LOG_FORMAT", ["xml"]],
  ])("%s is refused by name for a wrong value", (name, values) => {
    for (const value of values) {
      expect(() => readConfig({ [name]: value })).toThrow(ConfigError);
      expect(() => readConfig({ [name]: value })).toThrow(name);
    }
  });

  test.each([
    ["sqlite:/srv/a.db", "/srv/a.db"],
    ["sqlite:///srv/a.db", "/srv/a.db"],
  ])("for the database reads %s as the path %s", (address, path) => {
    expect(readConfig({ WINDLASS_DATABASE_URL: address }).databaseFile).toBe(path);
  });

  test.each([
    ["file:/srv/blobs", "/srv/blobs"],
    ["file:///srv/blobs", "/srv/blobs"],
  ])("for the artifacts reads %s as the path %s", (address, path) => {
    expect(readConfig({ WINDLASS_ARTIFACTS_URL: address }).artifactsDirectory).toBe(path);
  });

  test("for the database says what it expects, and repeats no secret", () => {
    const refused = (address: string) => () => readConfig({ WINDLASS_DATABASE_URL: address });
    expect(refused("a.db")).toThrow(
      'WINDLASS_DATABASE_URL must be an address that begins with sqlite: or postgres:, not "a.db"',
    );
    expect(refused("mysql://ada:s3cret@example.com/windlass")).toThrow(
      expect.not.stringContaining("s3cret"),
    );
  });

  test.each([
    ["s3://wl/n3", "must name a bucket of"],
    ["s3://Nonexist_B/p", "must name a bucket of"],
    ["s3://bucket/a b", "must have a prefix of"],
  ])("for a bucket says what is wrong with %s", (address, fault) => {
    expect(() => readConfig({ WINDLASS_ARTIFACTS_URL: address })).toThrow(
      new RegExp(`^WINDLASS_ARTIFACTS_URL ${fault} .*, not "${address}"$`),
    );
  });

  test("for trusted proxies accepts IPv4 and IPv6 addresses and networks", () => {
    const given = "127.0.0.1, 10.0.0.0/8,::1,fd00::/8";
    expect(readConfig({ WINDLASS_TRUSTED_PROXIES: given }).trustedProxies).toHaveLength(4);
  });

  test("for older keys accepts a list with commas, or a file with one key per line", async () => {
    const file = join(directory, "keys");
    await writeFile(file, `${key},1\n${key}2\n`);
    const inline = readConfig({ WINDLASS_SECRET_KEY_OLD: `${key}1, ${key}2` });
    expect(inline.olderSecretKeys).toEqual([`${key}1`, `${key}2`]);
    const named = readConfig({ WINDLASS_SECRET_KEY_OLD_FILE: file });
    expect(named.olderSecretKeys).toEqual([`${key},1`, `${key}2`]);
  });

  test.each(["0.0.0.0", "::", "0:0:0:0:0:0:0:0"])(
    "for the public URL is required when the server listens at %s",
    async (host) => {
      const config = readConfig({ WINDLASS_HOST: host, WINDLASS_DATA_DIR: directory });
      await expect(startServer(config, pino({ level: "silent" }))).rejects.toThrow(
        /WINDLASS_PUBLIC_URL must be set/,
      );
      expect(await readdir(directory)).toEqual([]);
    },
  );
});

describe("a setting without effect", () => {
  const bucket = { WINDLASS_ARTIFACTS_URL: "s3://bucket" };
  const database = { WINDLASS_DATABASE_URL: "postgres://u@127.0.0.1/x" };

  test.each([
    ["WINDLASS_DATABASE_OWNER_URL", "postgres://u@127.0.0.1/x", "WINDLASS_DATABASE_URL", database],
    ["WINDLASS_DATABASE_CONNECTIONS", "20", "WINDLASS_DATABASE_URL", database],
    ["WINDLASS_S3_PATH_STYLE", "1", "WINDLASS_ARTIFACTS_URL", bucket],
    ["WINDLASS_S3_ENCRYPTION", "aws:kms", "WINDLASS_ARTIFACTS_URL", bucket],
    [
      "WINDLASS_S3_KMS_KEY",
      "abc",
      "WINDLASS_ARTIFACTS_URL",
      { ...bucket, WINDLASS_S3_ENCRYPTION: "aws:kms" },
    ],
    ["GITLAB_BASE_URL", "https://git.example", "GITLAB_CLIENT_ID", undefined],
  ])("causes a warning: %s=%s without %s", (name, value, missing, used) => {
    expect(readConfig({ [name]: value }).warnings).toEqual([
      expect.stringMatching(new RegExp(`^${name} has no effect, .*${missing}`)),
    ]);
    if (used) expect(readConfig({ ...used, [name]: value }).warnings).toEqual([]);
  });

  test("causes no warning with its default", () => {
    const settings = { WINDLASS_S3_PATH_STYLE: "0", WINDLASS_S3_KMS_KEY: "" };
    expect(readConfig(settings).warnings).toEqual([]);
  });

  test("causes a warning if it is a secret in a file", async () => {
    const file = join(directory, "owner");
    await writeFile(file, "postgres://u@127.0.0.1/x\n");
    expect(readConfig({ WINDLASS_DATABASE_OWNER_URL_FILE: file }).warnings).toHaveLength(1);
  });
});

describe("a sign-in provider", () => {
  test("is off without a client id, even with a base URL", () => {
    expect(readConfig({ GITLAB_BASE_URL: "https://git.example" }).providers).toEqual({});
  });

  test("is on with its id and secret, also from a file or a systemd credential", async () => {
    await writeFile(join(directory, "GITLAB_CLIENT_SECRET"), "by systemd\n");
    await writeFile(join(directory, "named"), "by file\n");
    const { providers } = readConfig({
      GITLAB_CLIENT_ID: "a",
      CREDENTIALS_DIRECTORY: directory,
      GOOGLE_CLIENT_ID: "b",
      GOOGLE_CLIENT_SECRET_FILE: join(directory, "named"),
      GITLAB_BASE_URL: "https://git.example/",
    });
    expect(providers).toMatchObject({
      gitlab: { clientId: "a", clientSecret: "by systemd", baseUrl: "https://git.example" },
      google: { clientId: "b", clientSecret: "by file" },
    });
    expect(Object.keys(providers)).toEqual(["gitlab", "google"]);
  });

  test("of OpenID Connect is one of up to nine, with the issuer unchanged", () => {
    const given = (prefix: string, issuer: string) => ({
      [`${prefix}_ISSUER`]: issuer,
      [`${prefix}_CLIENT_ID`]: "a",
      [`${prefix}_CLIENT_SECRET`]: "b",
    });
    const { providers, warnings } = readConfig({
      ...given("WINDLASS_OIDC", "https://sso.example/o/windlass/"),
      ...given("WINDLASS_OIDC_9", "https://other.example"),
      WINDLASS_OIDC_9_NAME: "Other",
      WINDLASS_SIGN_IN_ALLOW: "oidc:*",
    });
    expect(providers).toMatchObject({
      oidc: { baseUrl: "https://sso.example/o/windlass/", oidc: { groupsClaim: "groups" } },
      oidc_9: { baseUrl: "https://other.example", oidc: { title: "Other" } },
    });
    expect(warnings).toEqual([]);
    for (const [issuer, more] of [
      ["https://login.microsoftonline.com/common/v2.0", {}],
      ["https://sso.example", { WINDLASS_OIDC_CLIENT_ID: "" }],
      ["https://sso.example", { WINDLASS_OIDC_SCOPES: "email" }],
    ] as const)
      expect(() => readConfig({ ...given("WINDLASS_OIDC", issuer), ...more })).toThrow(
        /WINDLASS_OIDC_(ISSUER|CLIENT_ID|SCOPES) must/,
      );
  });

  test.each([
    ["GITHUB_CLIENT_SECRET", { GITHUB_CLIENT_ID: "a" }],
    ["BITBUCKET_CLIENT_ID", { BITBUCKET_CLIENT_SECRET: "a" }],
    ["GOOGLE_BASE_URL", { GOOGLE_BASE_URL: "accounts.google.com" }],
  ])("is refused by name if %s is missing or wrong", (name, settings) => {
    expect(() => readConfig(settings)).toThrow(ConfigError);
    expect(() => readConfig(settings)).toThrow(name);
  });
});

test.each(["github:org/acme", "ada", "@"])("WINDLASS_TEAM_CREATORS refuses %s", (entry) => {
  expect(() => readConfig({ WINDLASS_TEAM_CREATORS: `ada@example.com,${entry}` })).toThrow(
    `WINDLASS_TEAM_CREATORS must be`,
  );
});

describe("WINDLASS_SIGN_IN_ALLOW", () => {
  const github = { GITHUB_CLIENT_ID: "id", GITHUB_CLIENT_SECRET: "secret" };

  test("is refused with a wrong entry or too many groups", () => {
    const groups = Array.from({ length: 21 }, (_, index) => `github:org/a${index}`).join();
    for (const [list, reason] of [
      ["@example.com, example.org", 'not "example.org"'],
      [groups, "at most 20 organisations and groups"],
    ] as const)
      expect(() => readConfig({ WINDLASS_SIGN_IN_ALLOW: list })).toThrow(reason);
  });

  test("causes a warning if it is empty or can never match", () => {
    expect(readConfig(github).warnings).toEqual([expect.stringContaining("is empty")]);
    expect(readConfig({ ...github, WINDLASS_SIGN_IN_ALLOW: "*" }).warnings).toEqual([]);
    expect(readConfig({ ...github, WINDLASS_SIGN_IN_ALLOW: "gitlab:group/acme" }).warnings).toEqual(
      [expect.stringContaining("sign-in with gitlab is off")],
    );
  });
});

test("a release secret of fewer than 32 bytes is refused by name", () => {
  expect(() => readConfig({ RELEASE_API_SECRET: "s".repeat(31) })).toThrow(
    "RELEASE_API_SECRET must be a secret of at least 32 bytes",
  );
  expect(readConfig({ RELEASE_API_SECRET: "s".repeat(32) }).releaseSecret).toBe("s".repeat(32));
});
