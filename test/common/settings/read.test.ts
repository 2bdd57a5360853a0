import { expect, test } from "vitest";
import { ConfigError } from "../../../common/settings/config-error.ts";
import { settingsReader } from "../../../common/settings/read.ts";
import type { Settings } from "../../../common/settings/setting.ts";

const settings = {
  NAME: { type: "text", pattern: /^[a-z]+$/, maxLength: 3, expected: "a short word", help: "" },
  FOLDER: { type: "path", help: "" },
  URL: { type: "url", help: "" },
  KEYS: { type: "file", help: "" },
  KEY: { type: "secret", minBytes: 8, help: "" },
  TOKEN: { type: "secret", maxLength: 8, help: "" },
  OLD_KEYS: { type: "secrets", minBytes: 8, help: "" },
  ON: { type: "boolean", help: "" },
  LEVEL: { type: "enum", values: ["low", "high"], default: "low", help: "" },
  PORT: { type: "integer", min: 0, max: 65_535, default: 8080, help: "" },
  WAIT: { type: "number", unit: "seconds", min: 0.01, max: 60, default: 30, help: "" },
  ROOM: { type: "size", unit: "MiB", min: 0.001, max: 10, default: 1, help: "" },
  CACHE: { type: "size", unit: "GiB", isWhole: true, min: 0, max: 10, default: 1, help: "" },
  KEPT: { type: "retention", default: 90, help: "" },
  LABELS: { type: "list", pattern: /^\w+$/, most: 2, expected: "labels", help: "" },
} as const satisfies Settings;

type Name = keyof typeof settings;
const read = (name: Name, environment: Record<string, string>): unknown =>
  settingsReader(settings, environment)(name);

test.each<[Name, string, unknown]>([
  ["NAME", "abc", "abc"],
  ["FOLDER", "x y", "x y"],
  ["URL", "https://example.com/base//", "https://example.com/base"],
  ["KEY", "12345678", "12345678"],
  ["TOKEN", " abc\n", "abc"],
  ["OLD_KEYS", "12345678, abcdefgh,", ["12345678", "abcdefgh"]],
  ["ON", "True", true],
  ["ON", "0", false],
  ["LEVEL", "high", "high"],
  ["PORT", "0", 0],
  ["WAIT", "0.5", 0.5],
  ["WAIT", ".5", 0.5],
  ["WAIT", "60", 60],
  ["ROOM", "0.001", 1049],
  ["CACHE", "2", 2_147_483_648],
  ["KEPT", "0.5", 43_200_000],
  ["KEPT", "forever", Infinity],
  ["LABELS", "a, a ,", ["a"]],
])("%s=%s is read as %j", (name, text, value) => {
  expect(read(name, { [name]: text })).toEqual(value);
});

test.each<[Name, unknown]>([
  ["NAME", undefined],
  ["KEY", undefined],
  ["OLD_KEYS", []],
  ["ON", false],
  ["LEVEL", "low"],
  ["PORT", 8080],
  ["ROOM", 1_048_576],
  ["KEPT", 7_776_000_000],
  ["LABELS", []],
])("%s has the default %j when it is not set or empty", (name, value) => {
  expect(read(name, {})).toEqual(value);
  expect(read(name, { [name]: "" })).toEqual(value);
});

test.each<[Name, string, string]>([
  ["NAME", "abcd", 'NAME must be a short word, not "abcd"'],
  [
    "URL",
    "example.com",
    'URL must be an http or https address such as https://windlass.example.com, not "example.com"',
  ],
  ["KEYS", "/nowhere", "KEYS cannot be read: "],
  ["KEY", "1234567", "KEY must be a secret of at least 8 bytes"],
  ["TOKEN", "123456789", "TOKEN must be a secret of at most 8 characters"],
  ["OLD_KEYS", "12345678,1", "OLD_KEYS must be secrets of at least 8 bytes each"],
  ["ON", "constructor", 'ON must be 1 or 0, not "constructor"'],
  ["LEVEL", "High", 'LEVEL must be one of low, high, not "High"'],
  ["PORT", "80.5", 'PORT must be a whole number from 0 to 65535, not "80.5"'],
  ["PORT", " ", 'PORT must be a whole number from 0 to 65535, not " "'],
  ["PORT", "8080\r", 'PORT must be a whole number from 0 to 65535, not "8080\\r"'],
  ["PORT", "-1", 'PORT must be a whole number from 0 to 65535, not "-1"'],
  ["PORT", "65536", 'PORT must be a whole number from 0 to 65535, not "65536"'],
  ...["0x10", "1e3", "08", "+1", "1_0", "٣"].map((text): [Name, string, string] => [
    "PORT",
    text,
    `PORT must be a whole number from 0 to 65535, not "${text}"`,
  ]),
  ["ROOM", "\t", 'ROOM must be a number of MiB from 0.001 to 10, not "\\t"'],
  ["KEPT", " ", 'KEPT must be a number of days above 0 and up to 36500, or "forever", not " "'],
  ["NAME", "x".repeat(5000), `NAME must be a short word, not "${"x".repeat(200)}"`],
  ["WAIT", "30s", 'WAIT must be a number of seconds from 0.01 to 60, not "30s"'],
  ["WAIT", "Infinity", 'WAIT must be a number of seconds from 0.01 to 60, not "Infinity"'],
  ["ROOM", "0", 'ROOM must be a number of MiB from 0.001 to 10, not "0"'],
  ["CACHE", "0.5", 'CACHE must be a whole number of GiB from 0 to 10, not "0.5"'],
  ["KEPT", "0.0", 'KEPT must be a number of days above 0 and up to 36500, or "forever", not "0.0"'],
  ["LABELS", "a,b,c", 'LABELS must be at most 2 labels, separated by commas, not "a,b,c"'],
  ["LABELS", "a b", 'LABELS must be at most 2 labels, separated by commas, not "a b"'],
])("%s=%s is refused with the name, the value and the expected form", (name, text, message) => {
  expect(() => read(name, { [name]: text })).toThrow(ConfigError);
  expect(() => read(name, { [name]: text })).toThrow(message);
});

test.each<[Name, string]>([
  ["KEY", "s3cret"],
  ["TOKEN", "s3cret-too-long"],
  ["OLD_KEYS", "s3cret"],
  ["URL", "https://ada:s3cret@example.com"],
  ["URL", "https://ada:s3/cret:s3cret@example.com"],
  ["URL", "ada:s3cret@example.com"],
  ["URL", "https://example.com/?token=s3cret"],
])("the message about %s does not repeat a secret", (name, text) => {
  expect(() => read(name, { [name]: text })).toThrow(expect.not.stringContaining("s3cret"));
});
