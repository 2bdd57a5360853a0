import { expect, test } from "vitest";
import { openApi } from "../../../cli/api/api.ts";
import { changeAuth } from "../../../cli/api/auth-file.ts";
import { folderForFile } from "../../helpers/folders.ts";

const directory = folderForFile();
const settings = { directory, url: undefined, token: undefined } as const;
const open = () => openApi({ settings, server: undefined, profile: undefined });

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
