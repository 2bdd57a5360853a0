import type { Configuration } from "../../../protocol/configurations.ts";
import type { ZoneName } from "../../services/zones/zones.ts";
import type { FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { tabs } from "../page/tabs.ts";
import { actionsOf } from "./configuration-actions.ts";
import { driftBadge } from "./drift-view.ts";
import { entriesOf, entryKinds } from "./entries-view.ts";
import { standingBadge } from "./failed-view.ts";
import { sourceInWords } from "./source-view.ts";

/** Each tab by its address below that of the configuration. */
export const configurationTabs = {
  "": "Overview",
  "/jobs": "Jobs",
  "/variables": "Variables",
  "/state": "State",
  "/settings": "Settings",
} as const;
export type ConfigurationTab = keyof typeof configurationTabs;

export const configurationPage = (
  configuration: Configuration,
  zone: ZoneName,
  at: ConfigurationTab,
  forms: FormsOf,
  body: Html,
): Html => {
  const { id, name, source } = configuration;
  const path = `/configurations/${id}`;
  const values = entryKinds.flatMap((kind) => Object.keys(entriesOf(configuration, kind)));
  return html`<nav class="trail" aria-label="Above">
      <a href="/zones">Zones</a> / <a href="/zones/${zone.id}">${zone.name}</a>
    </nav>
    <div class="page-head">
      <div>
        <header class="title" id="standing" data-live>
          <h1>${name}</h1>
          ${standingBadge(configuration)} ${driftBadge(configuration)}
        </header>
        <p class="soft">${sourceInWords(source)} · ${engineInWords(configuration)}</p>
      </div>
      ${actionsOf(configuration, forms("start"))}
    </div>
    ${tabs(
      `Parts of ${name}`,
      `${path}${at}`,
      Object.entries(configurationTabs).map(([below, words]) => ({
        path: `${path}${below}`,
        name: words,
        count: below === "/variables" ? values.length || undefined : undefined,
      })),
    )}
    ${body}`;
};

export const engineInWords = ({ engine, engine_version }: Configuration): string =>
  `${engine === "opentofu" ? "OpenTofu" : "Terraform"}${engine_version ? ` ${engine_version}` : ", the version on the worker"}`;
