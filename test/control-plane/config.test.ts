import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError, readConfig } from "../../control-plane/config.ts";

describe("a sign-in provider", () => {
  test("is off without settings, whatever its address", () => {
    expect(readConfig({ GITLAB_BASE_URL: "https://git.example" }).providers).toEqual({});
  });

  test("is on with its id and secret, also from a file or a systemd credential", async () => {
    const directory = await mkdtemp(join(tmpdir(), "config-"));
    await writeFile(join(directory, "GITLAB_CLIENT_SECRET"), "by systemd\n");
    await writeFile(join(directory, "named"), "by file\n");
    const { providers } = readConfig({
      GITLAB_CLIENT_ID: "a",
      CREDENTIALS_DIRECTORY: directory,
      GOOGLE_CLIENT_ID: "b",
      GOOGLE_CLIENT_SECRET_FILE: join(directory, "named"),
      GITLAB_BASE_URL: "https://git.example/",
    });
    await rm(directory, { recursive: true });
    expect(providers).toMatchObject({
      gitlab: { clientId: "a", clientSecret: "by systemd", baseUrl: "https://git.example" },
      google: { clientId: "b", clientSecret: "by file" },
    });
    expect(Object.keys(providers)).toEqual(["gitlab", "google"]);
  });

  test.each([
    ["GITHUB_CLIENT_SECRET", { GITHUB_CLIENT_ID: "a" }],
    ["BITBUCKET_CLIENT_ID", { BITBUCKET_CLIENT_SECRET: "a" }],
    ["GOOGLE_BASE_URL", { GOOGLE_BASE_URL: "accounts.google.com" }],
  ])("with %s missing or wrong ends the start, by name", (name, settings) => {
    expect(() => readConfig(settings)).toThrow(ConfigError);
    expect(() => readConfig(settings)).toThrow(name);
  });
});

describe("WINDLASS_SIGN_IN_ALLOW", () => {
  const github = { GITHUB_CLIENT_ID: "id", GITHUB_CLIENT_SECRET: "secret" };

  test("that has a wrong entry, or too many groups, ends the start", () => {
    const groups = Array.from({ length: 21 }, (_, index) => `github:org/a${index}`).join();
    for (const [list, reason] of [
      ["@example.com, example.org", 'not "example.org"'],
      [groups, "at most 20 organisations and groups"],
    ] as const)
      expect(() => readConfig({ WINDLASS_SIGN_IN_ALLOW: list })).toThrow(reason);
  });

  test("that lets no one in, or can never match, is a warning", () => {
    expect(readConfig(github).warnings).toEqual([expect.stringContaining("is empty")]);
    expect(readConfig({ ...github, WINDLASS_SIGN_IN_ALLOW: "*" }).warnings).toEqual([]);
    expect(readConfig({ ...github, WINDLASS_SIGN_IN_ALLOW: "gitlab:group/acme" }).warnings).toEqual(
      [expect.stringContaining("sign-in with gitlab is off")],
    );
  });
});

test("a release secret of less than 32 bytes ends the start, by name", () => {
  expect(() => readConfig({ RELEASE_API_SECRET: "s".repeat(31) })).toThrow(
    "RELEASE_API_SECRET must have at least 32 bytes",
  );
  expect(readConfig({ RELEASE_API_SECRET: "s".repeat(32) }).releaseSecret).toBe("s".repeat(32));
});
