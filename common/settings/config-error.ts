/**
 * A setting is wrong; the message names it and says what to do. The process ends with exit code 78.
 */
export class ConfigError extends Error {
  override readonly name: string = "ConfigError";
}

/** A required setting is not set. */
export class MissingSettingError extends ConfigError {
  override readonly name = "MissingSettingError";
  readonly setting: string;

  constructor(setting: string, what: string) {
    super(`${setting} is not set: ${what}`);
    this.setting = setting;
  }
}
