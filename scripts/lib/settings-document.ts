/** Builds the tables of docs/settings.md. The prose around them is written by hand. */
import { registry } from "../../common/settings/registry.ts";
import { expected, type Setting, type Settings } from "../../common/settings/setting.ts";

/** Returns the page with new tables. Throws if the page has no place for one. */
export function settingsDocument(page: string): string {
  let text = page;
  for (const { id, settings } of Object.values(registry).flat()) {
    const [start, end] = [`<!-- settings: ${id} -->\n`, "<!-- end of settings -->"];
    const from = text.indexOf(start);
    if (from === -1) throw new Error(`docs/settings.md has no "${start.trim()}"`);
    const to = text.indexOf(end, from);
    if (to === -1) throw new Error(`docs/settings.md has no "${end}" after "${start.trim()}"`);
    text = `${text.slice(0, from)}${start}\n${tableOf(settings)}\n${text.slice(to)}`;
  }
  return text;
}

function tableOf(settings: Settings): string {
  const rows = Object.entries(settings).map(([name, setting]) => [
    `\`${name}\``,
    escaped(expected(setting)),
    withoutSetting(setting),
    meaning(setting),
  ]);
  return [["setting", "value", "default", "meaning"], Array(4).fill("---"), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |\n`)
    .join("");
}

function withoutSetting(setting: Setting): string {
  if (setting.otherwise !== undefined) return setting.otherwise;
  if ("default" in setting) return String(setting.default);
  return setting.type === "boolean" ? "off" : "none";
}

/** Links in the registry are relative to the repository, those of the page to docs/. */
const meaning = ({ help, details }: Setting): string =>
  [escaped(help), details].filter(Boolean).join(". ").replaceAll("](docs/", "](");

/** A star would begin emphasis. */
const escaped = (text: string): string => text.replaceAll("*", String.raw`\*`);
