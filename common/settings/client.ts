/** The settings of the client. */
import { proxies } from "./network.ts";
import type { Settings, SettingsGroup } from "./setting.ts";

export const clientSettings = {
  WINDLASS_URL: {
    type: "url",
    otherwise: "that of the current profile",
    help: "the server; --server takes precedence",
  },
  WINDLASS_TOKEN: {
    type: "secret",
    otherwise: "that of the profile",
    help: "an access token for pipelines, in place of a sign-in (docs/pipelines.md)",
    details: "It is sent only to the server named by `WINDLASS_URL` or `--server`",
  },
  WINDLASS_TEAM: {
    type: "text",
    pattern: /^[a-z0-9-]{1,40}$/,
    expected: "the slug of a team",
    otherwise: "that of the current profile, else your personal space",
    help: "the team to act in; --team takes precedence",
    details:
      "An access token acts in its own space: with another team, its requests are refused with 404 `team_not_found`",
  },
  WINDLASS_CONFIG_DIR: {
    type: "path",
    otherwise: "$XDG_CONFIG_HOME/windlass, else ~/.config/windlass",
    help: "the directory of profiles and tokens",
  },
  ...proxies,
  NODE_EXTRA_CA_CERTS: {
    type: "path",
    help: "a file with certificate authorities of this network",
  },
  NO_COLOR: { type: "text", expected: "any text", help: "no colours, even on a terminal" },
} as const satisfies Settings;

export const client: SettingsGroup = {
  id: "client",
  title: "Settings",
  settings: clientSettings,
};
