/** What each role reads, in the groups and the order of `--help` and docs/settings.md. */
import { agent, isolation, sources } from "./agent.ts";
import { client } from "./client.ts";
import { oidc } from "./oidc.ts";
import { quotas } from "./quotas.ts";
import { controlPlane, providers, retention } from "./server.ts";
import type { SettingsGroup } from "./setting.ts";

export type Role = "server" | "agent" | "client";

export const registry: Readonly<Record<Role, readonly SettingsGroup[]>> = {
  server: [
    { id: "server", title: "Settings", settings: controlPlane },
    { id: "providers", title: "Settings of sign-in with a provider", settings: providers },
    {
      id: "oidc",
      title: "Settings of OpenID Connect (more providers: WINDLASS_OIDC_2_… to _9_…)",
      settings: oidc,
    },
    { id: "retention", title: "Settings of retention", settings: retention },
    { id: "quotas", title: "Settings of quotas", settings: quotas },
  ],
  agent: [
    { id: "agent", title: "Settings", settings: agent },
    { id: "isolation", title: "Settings of isolation", settings: isolation },
    { id: "sources", title: "Settings of sources, engines and providers", settings: sources },
  ],
  client: [client],
};
