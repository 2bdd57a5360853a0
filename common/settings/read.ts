/** Reads settings as the registry declares them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { withoutEndSlashes } from "../addresses.ts";
import { day, gibibyte, mebibyte } from "../units.ts";
import { ConfigError } from "./config-error.ts";
import { readSettingFile } from "./file.ts";
import { expected, mostDays, type Setting, type Settings, type Value } from "./setting.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** An empty value counts as not set. Throws `ConfigError`, which never repeats a secret. */
export const settingsReader =
  <const S extends Settings>(settings: S, environment: Environment) =>
  <const N extends keyof S & string>(name: N): Value<S[N]> =>
    read(name, settings[name] as Setting, environment) as Value<S[N]>;

function read(name: string, setting: Setting, environment: Environment): unknown {
  if (setting.type === "secret" || setting.type === "secrets")
    return readSecret(name, setting, environment);
  const text = environment[name] || undefined;
  if (text === undefined) return unset(setting);
  if (setting.type === "file") return readSettingFile(name, text);
  const value = parse(text, setting);
  if (value !== undefined) return value;
  throw new ConfigError(`${name} must be ${expected(setting)}${given(text)}`);
}

/** The value as messages repeat it, on one line. An address may hold a password or a token. */
const given = (text: string): string =>
  /[@?]/.test(text) ? "" : `, not ${JSON.stringify(text.slice(0, shownLength))}`;

const shownLength = 200;

function unset(setting: Setting): unknown {
  if (setting.type === "boolean") return false;
  if (setting.type === "list") return [];
  return "default" in setting ? parse(String(setting.default), setting) : undefined;
}

/** Returns undefined if the text is not a value of this setting. */
function parse(text: string, setting: Exclude<Setting, { type: SecretType | "file" }>): unknown {
  switch (setting.type) {
    case "text":
      return matches(text, setting) ? text : undefined;
    case "path":
      return text;
    case "url": {
      if (!isAddress(text)) return undefined;
      const address = setting.isExact ? text : withoutEndSlashes(text);
      return setting.hasNoPath && new URL(address).pathname !== "/" ? undefined : address;
    }
    case "boolean":
      return /^(1|true|0|false)$/i.test(text) ? /^(1|true)$/i.test(text) : undefined;
    case "enum":
      return setting.values.includes(text) ? text : undefined;
    case "integer":
      return text.includes(".") ? undefined : numberIn(text, setting);
    case "number":
      return numberIn(text, setting);
    case "size": {
      const size = numberIn(text, setting);
      if (size === undefined || (setting.isWhole && !Number.isInteger(size))) return undefined;
      return Math.ceil(size * (setting.unit === "GiB" ? gibibyte : mebibyte));
    }
    case "retention": {
      if (text === "forever") return Infinity;
      const days = numberIn(text, { min: 0, max: mostDays });
      // 0, and typing errors such as 0.0, would remove everything at once.
      return days ? days * day : undefined;
    }
    case "list": {
      const parts = text.split(",").flatMap((part) => part.trim() || []);
      if (parts.length > (setting.most ?? Infinity)) return undefined;
      return parts.every((part) => matches(part, setting)) ? [...new Set(parts)] : undefined;
    }
  }
}

const matches = (
  text: string,
  { pattern, maxLength = 4096 }: { pattern?: RegExp; maxLength?: number },
): boolean => text.length <= maxLength && (pattern?.test(text) ?? true);

/**
 * `Number` reads blanks as 0, which turns limits off, and 0x10 and 1e3, which bin/windlass cannot
 * count with.
 */
function numberIn(text: string, { min, max }: { min: number; max: number }): number | undefined {
  const value = /^(0|[1-9]\d*)?(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

/** An http or https address without user, password, query and fragment. */
function isAddress(text: string): boolean {
  const url = /^https?:\/\/[^\s?#]+$/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

type SecretType = "secret" | "secrets";

function readSecret(
  name: string,
  setting: Extract<Setting, { type: SecretType }>,
  environment: Environment,
): string | readonly string[] | undefined {
  const inline = environment[name] || undefined;
  const text = inline ?? secretFile(name, environment);
  const { minBytes = 0 } = setting;
  const complaint = `${name} must be ${expected(setting)}`;
  if (setting.type === "secrets") {
    // A line of the file is the same bytes as the file that held the key alone.
    const parts =
      inline === undefined
        ? text?.split("\n").map((line) => line.trimEnd())
        : inline.split(",").map((part) => part.trim());
    const secrets = parts?.filter((part) => part !== "") ?? [];
    if (secrets.some((secret) => Buffer.byteLength(secret) < minBytes))
      throw new ConfigError(complaint);
    return secrets;
  }
  if (text === undefined) return undefined;
  // A key counts with every byte; tokens have no blanks around them.
  const secret = minBytes > 0 ? text : text.trim();
  if (Buffer.byteLength(secret) < minBytes || secret.length > (setting.maxLength ?? Infinity))
    throw new ConfigError(complaint);
  return secret || undefined;
}

function secretFile(name: string, environment: Environment): string | undefined {
  const named = environment[`${name}_FILE`] || undefined;
  const folder = environment["CREDENTIALS_DIRECTORY"] || undefined;
  const credential = folder === undefined ? undefined : join(folder, name);
  const file = named ?? (credential && existsSync(credential) ? credential : undefined);
  return file === undefined ? undefined : readSettingFile(`${name}_FILE`, file).trimEnd();
}
