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
