/** The part of a role's `--help` that lists its settings. */
import { styleText } from "node:util";
import type { Setting, SettingsGroup } from "./setting.ts";

const column = 31;
const width = 80;

/** Returns these groups, each with its heading. No line is longer than 80 characters. */
export const settingsHelp = (groups: readonly SettingsGroup[]): string =>
  groups
    .map(({ title, settings }) => {
      const shown = Object.entries(settings).filter(([, { isInternal }]) => !isInternal);
      return `${styleText("bold", `${title}:`, { stream: process.stdout })}\n${shown.map(([name, setting]) => entry(name, setting)).join("")}`;
    })
    .join("\n");

function entry(name: string, setting: Setting): string {
  const lines = wrapped(`${setting.help}${hint(setting)}`, width - column);
  // A long name stands on a line of its own.
  const head = `  ${name} `;
  const first =
    head.length > column ? `${head.trimEnd()}\n${" ".repeat(column)}` : head.padEnd(column);
  return `${first}${lines.join(`\n${" ".repeat(column)}`)}\n`;
}

/** The values to choose from, and what applies without the setting. */
function hint(setting: Setting): string {
  const values = setting.type === "enum" ? `${setting.values.join(", ")}; ` : "";
  const text =
    setting.type === "boolean"
      ? "1 turns it on"
      : "default" in setting
        ? `${values}default: ${setting.default}`
        : `${values}${withoutSetting(setting)}`;
  return text && ` (${text})`;
}

function withoutSetting({ otherwise }: Setting): string {
  if (otherwise === undefined || otherwise === "required") return otherwise ?? "";
  return `default: ${otherwise}`;
}

function wrapped(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
