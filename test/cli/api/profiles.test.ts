import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openApi } from "../../../cli/api/api.ts";
import { changeAuth } from "../../../cli/api/auth-file.ts";
import { readClientSettings } from "../../../cli/config.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";

const directory = folderForFile();
const settings = { directory, url: undefined, token: undefined } as const;
const open = () => openApi({ settings, server: undefined, profile: undefined });

test("a pipeline is told which variable is empty or has no token", () => {
  const { emptyToken, token } = readClientSettings({ WINDLASS_TOKEN: "" });
  expect({ emptyToken, token }).toEqual({ emptyToken: "WINDLASS_TOKEN", token: undefined });
  const file = join(directory, "token");
  writeFileSync(file, "\n");
  expect(readClientSettings({ WINDLASS_TOKEN_FILE: file }).emptyToken).toBe("WINDLASS_TOKEN_FILE");
  writeFileSync(file, "wlt_a\nwlt_b\n");
  expect(() => readClientSettings({ WINDLASS_TOKEN_FILE: file })).toThrow(
    /^WINDLASS_TOKEN_FILE has a character that no token has/,
  );
  expect(() => readClientSettings({ WINDLASS_TOKEN: "wlt_…" })).toThrow(/^WINDLASS_TOKEN has/);
  expect(readClientSettings({ WINDLASS_TOKEN: "wlt_a" }).emptyToken).toBeUndefined();
  expect(readClientSettings({}).emptyToken).toBeUndefined();
  const empty = { ...settings, emptyToken: "WINDLASS_TOKEN" };
  const server = "https://windlass.example.com";
  for (const address of [undefined, server])
    expect(() => openApi({ settings: empty, server: address, profile: undefined })).toThrow(
      /^You are not signed in( to \S+)?\. WINDLASS_TOKEN is set, but has no token: in a pipeline, check the secret that it comes from\. Run: windlass login/,
    );
});

test("without a current profile, the client names those that are left", async () => {
  expect(open).toThrow("You are not signed in. Run: windlass login --server https://…");
  const profile = {
    server: "https://windlass.example.com",
    user_email: "ada@example.com",
    access_token: "a",
    refresh_token: "r",
    expires_at: Date.now(),
  };
  await changeAuth(directory, () => ({ current: null, profiles: { "my one": profile } }));
  expect(open).toThrow("No profile is current. Choose one: windlass profiles use 'my one'");
});
