/** What the registry says of a setting: plain data, without a schema library in the agent. */

interface Described {
  /** What the setting is or does, on one line: for `--help` and docs/settings.md. */
  readonly help: string;
  /** Further sentences for docs/settings.md, in Markdown. */
  readonly details?: string;
  /** What applies while the setting is not set, if that is not a fixed value. */
  readonly otherwise?: string;
  /** Left out of `--help`: scales time in tests. */
  readonly isInternal?: true;
}

/** A text of at most 4096 characters unless `maxLength` differs. */
interface Text {
  /** Matches the whole value. */
  readonly pattern?: RegExp;
  readonly maxLength?: number;
  /** What the value should be, such as "a name of up to 100 characters". */
  readonly expected?: string;
}

interface Range {
  readonly min: number;
  readonly max: number;
  readonly default?: number;
}

export type Setting = Described &
  (
    | ({ readonly type: "text"; readonly default?: string } & Text)
    | { readonly type: "path" }
    | {
        readonly type: "url";
        readonly example?: string;
        readonly hasNoPath?: true;
        readonly isExact?: true;
      }
    /** The path of a file; read as its content. */
    | { readonly type: "file" }
    /** `NAME`, a file that `NAME_FILE` names, or a systemd credential called NAME. */
    | {
        readonly type: "secret";
        readonly minBytes?: number;
        readonly maxLength?: number;
        readonly expected?: string;
      }
    /** Secrets separated by commas, or one on each line of the file. */
    | { readonly type: "secrets"; readonly minBytes: number }
    | { readonly type: "boolean" }
    | { readonly type: "enum"; readonly values: readonly string[]; readonly default?: string }
    | ({ readonly type: "integer" } & Range)
    | ({ readonly type: "number"; readonly unit: "seconds" | "days" } & Range)
    /** Read as whole bytes. */
    | ({ readonly type: "size"; readonly unit: "MiB" | "GiB"; readonly isWhole?: true } & Range)
    /** Days or `forever`; read as milliseconds or Infinity. */
    | { readonly type: "retention"; readonly default: number }
    | ({ readonly type: "list"; readonly most?: number } & Text)
  );

export type Settings = Readonly<Record<string, Setting>>;

/** Settings under one heading. */
export interface SettingsGroup {
  /** Marks the group's table in docs/settings.md. */
  readonly id: string;
  /** Heads the group in `--help`. */
  readonly title: string;
  readonly settings: Settings;
}

interface Values {
  text: string;
  path: string;
  url: string;
  file: string;
  secret: string;
  secrets: readonly string[];
  boolean: boolean;
  enum: string;
  integer: number;
  number: number;
  size: number;
  retention: number;
  list: readonly string[];
}

/** What reading a setting returns: undefined if it is not set and has no default. */
export type Value<S extends Setting> =
  | (S extends { type: "enum"; values: readonly (infer V)[] } ? V : Values[S["type"]])
  | (S extends { default: unknown } | { type: "boolean" | "list" | "secrets" } ? never : undefined);

/** The longest period of days that a setting takes: a century. */
export const mostDays = 36_500;

/** Says what a value must be, for error messages and docs/settings.md. */
export function expected(setting: Setting): string {
  switch (setting.type) {
    case "text":
      return setting.expected ?? "text";
    case "path":
      return "a path";
    case "file":
      return "the path of a file";
    case "url":
      return `an http or https address ${setting.hasNoPath ? "without a path, " : ""}such as ${setting.example ?? "https://windlass.example.com"}`;
    case "secret": {
      const { minBytes = 0, maxLength } = setting;
      if (setting.expected !== undefined) return setting.expected;
      if (minBytes > 1) return `a secret of at least ${minBytes} bytes`;
      if (minBytes === 1) return "text that is not empty";
      return maxLength === undefined ? "a secret" : `a secret of at most ${maxLength} characters`;
    }
    case "secrets":
      return `secrets of at least ${setting.minBytes} bytes each, separated by commas`;
    case "boolean":
      return "1 or 0";
    case "enum":
      return `one of ${setting.values.join(", ")}`;
    case "integer":
      return `a whole number from ${setting.min} to ${setting.max}`;
    case "number":
      return `a number of ${setting.unit} from ${setting.min} to ${setting.max}`;
    case "size": {
      const { isWhole, unit, min, max } = setting;
      return `a ${isWhole ? "whole number" : "number"} of ${unit} from ${min} to ${max}`;
    }
    case "retention":
      return `a number of days above 0 and up to ${mostDays}, or "forever"`;
    case "list": {
      const items = setting.expected ?? "words";
      const most = setting.most === undefined ? "" : `at most ${setting.most} `;
      return `${most}${items}, separated by commas`;
    }
  }
}
