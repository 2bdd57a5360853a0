/** Reads single settings and judges them by hand: a schema library for this alone would be a fifth of an idle agent's memory. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A setting is wrong; the message names it and says what it should be. The process ends with exit code 78. */
export class ConfigError extends Error {
  override readonly name: string = "ConfigError";
}

/** A setting that has to be there is not set. */
export class MissingSettingError extends ConfigError {
  override readonly name = "MissingSettingError";
  readonly setting: string;

  constructor(setting: string, what: string) {
    super(`${setting} is not set: ${what}`);
    this.setting = setting;
  }
}

/** Settings of the other roles and of the starter, which may share one file of settings with the agent. */
const othersNames =
  /^WINDLASS_(HOST|PORT|PUBLIC_URL|TRUSTED_PROXIES|DATA_DIR|DATABASE_URL|ARTIFACTS_URL|SECRET_KEY(_FILE)?|OFFLINE_SECONDS|LOST_SECONDS|DRAIN_SECONDS|TOKEN|CONFIG_DIR|PROVE)$/;

/** What text may be: a pattern for all of it, its length in characters, and how a person would say it. */
export interface Form {
  readonly pattern: RegExp;
  readonly most?: number;
  readonly said: string;
}

/** Each method reads the setting of a name; an empty value counts as not set. A bad one throws `ConfigError`. */
export class ConfigReader {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #known = new Set<string>();

  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  text(name: string, form?: Form): string | undefined {
    this.#known.add(name);
    const value = this.#environment[name] || undefined;
    if (value !== undefined && form && !fits(value, form))
      throw new ConfigError(`${name} must be ${form.said} (it is "${value}")`);
    return value;
  }

  number(name: string, fallback: number, minimum: number, maximum: number): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!Number.isFinite(value) || value < minimum || value > maximum)
      throw new ConfigError(
        `${name} must be a number from ${minimum} to ${maximum} (it is "${text}")`,
      );
    return value;
  }

  whole(name: string, fallback: number, minimum: number, maximum: number): number {
    const value = this.number(name, fallback, minimum, maximum);
    if (!Number.isInteger(value))
      throw new ConfigError(`${name} must be a whole number (it is "${value}")`);
    return value;
  }

  /** A period in seconds, from a hundredth to a day where nothing else is said. */
  seconds(name: string, fallback: number, maximum = 86_400): number {
    return this.number(name, fallback, 0.01, maximum);
  }

  flag(name: string): boolean {
    const text = this.text(name, {
      pattern: /^(1|0|true|false)$/i,
      said: "1 or 0",
    })?.toLowerCase();
    return text === "1" || text === "true";
  }

  word<const T extends readonly string[]>(name: string, words: T): T[number] | undefined {
    const text = this.text(name);
    if (text !== undefined && !words.includes(text))
      throw new ConfigError(`${name} must be one of ${words.join(", ")} (it is "${text}")`);
    return text;
  }

  /** Comma-separated. */
  list(name: string, form: Form, most: number): string[] {
    const text = this.text(name) ?? "";
    const parts = text.split(",").flatMap((part) => part.trim() || []);
    if (parts.length > most || !parts.every((part) => fits(part, form)))
      throw new ConfigError(
        `${name} must be at most ${most} of ${form.said}, separated by commas (it is "${text}")`,
      );
    return [...new Set(parts)];
  }

  /** `NAME`, or the content of the file that `NAME_FILE` names, or a systemd credential called NAME. Never repeated in a complaint. */
  secret(name: string, most: number): string | undefined {
    const credentials = this.#environment["CREDENTIALS_DIRECTORY"];
    const credential = credentials && join(credentials, name);
    const named = this.text(`${name}_FILE`);
    const file = named ?? (credential && existsSync(credential) ? credential : undefined);
    const value = this.text(name) ?? fileOf(`${name}_FILE`, file)?.trim();
    if ((value?.length ?? 0) > most)
      throw new ConfigError(`${name} must have at most ${most} characters`);
    return value || undefined;
  }

  /** The content of the file that the setting names. */
  file(name: string): string | undefined {
    return fileOf(name, this.text(name));
  }

  /** A warning for each name that nobody has read and that no other role has. */
  unknown(): string[] {
    return Object.keys(this.#environment)
      .filter((name) => name.startsWith("WINDLASS_"))
      .filter((name) => !this.#known.has(name) && !othersNames.test(name))
      .map((name) => `${name} is not a setting that this version knows`);
  }
}

const fits = (value: string, { pattern, most = 4096 }: Form): boolean =>
  value.length <= most && pattern.test(value);

function fileOf(name: string, path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigError(`${name} cannot be read: ${(error as Error).message}`);
  }
}
