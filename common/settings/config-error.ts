/** A setting is wrong. The message names it and says what to do; the exit code is 78. */
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
