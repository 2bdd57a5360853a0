import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobContext } from "../../../agent/job/context.ts";
import { openJournal } from "../../../agent/job/journal.ts";
import {
  checkSecrets,
  checkSecretsKnown,
  conceal,
  knowsAllSecrets,
  maskerOf,
  messageMaskerOf,
  missesFormer,
  openSealKey,
  secretsLost,
  secretsOf,
} from "../../../agent/job/secrets.ts";
import { secrecyOf } from "../../../common/redaction/secrecy.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";

const place = folderForFile();

const contextOf = (
  directory: string,
  workerToken: string,
  network: Record<string, string> = {},
  sealKey = "key",
) => {
  mkdirSync(directory, { recursive: true });
  const masked: string[] = [];
  const claim = { job: { id: "job", job_token: "job-token", config_snapshot: {} } };
  const context = {
    claim,
    journal: openJournal(directory),
    settings: { gitAccess: [], network, workerToken, sealKey },
    log: { addSecrets: (more: string[]) => masked.push(...more) },
  };
  return { context: context as unknown as JobContext, masked };
};

test("secrets that a job received are masked by the next agent too, and are in no file", () => {
  const directory = join(place, "one");
  const first = contextOf(directory, "wlw_token");
  conceal(first.context, ["the-secret-key", "another ü secret"]);
  conceal(first.context, ["the-second-set"]);
  expect(first.masked).toEqual(["the-secret-key", "another ü secret", "the-second-set"]);
  first.context.journal.close();
  const text = readFileSync(join(directory, "journal.ndjson"), "utf8");
  for (const secret of first.masked) expect(text).not.toContain(secret);
  const { context } = contextOf(directory, "wlw_token");
  expect(secretsOf(context)).toEqual(["job-token", "wlw_token", ...first.masked]);
  expect(knowsAllSecrets(context)).toBe(true);
  expect(maskerOf(context)("it is another ü secret")).toBe("it is ***");
  context.journal.close();
});

test("secrets that a job received are known after its worker's token was replaced", () => {
  const directory = join(place, "rotated");
  // Earlier versions have sealed with the token.
  const earlier = contextOf(directory, "wlw_token", {}, "wlw_token");
  conceal(earlier.context, ["the-first-key"]);
  earlier.context.journal.close();
  const first = contextOf(directory, "wlw_token");
  conceal(first.context, ["the-secret-key"]);
  expect(secretsOf(first.context)).toContain("the-first-key");
  first.context.journal.close();
  const own = contextOf(join(place, "rotated-later"), "wlw_token");
  conceal(own.context, ["the-secret-key"]);
  own.context.journal.close();
  const { context } = contextOf(join(place, "rotated-later"), "wlw_rotated");
  expect(secretsOf(context)).toEqual(["job-token", "wlw_rotated", "the-secret-key"]);
  expect(knowsAllSecrets(context)).toBe(true);
  context.journal.close();
});

test.each([
  ["another key", "another", undefined],
  ["a damaged entry", "key", "AAAA"],
])("with %s, texts are held back and nothing fails", (_, sealKey, sealed) => {
  const directory = join(place, `lost-${sealKey}`);
  const first = contextOf(directory, "wlw_token");
  conceal(first.context, ["the-secret-key"]);
  if (sealed !== undefined) first.context.journal.append({ at: "secrets", sealed });
  first.context.journal.close();
  const { context } = contextOf(directory, "wlw_token", {}, sealKey);
  expect(secretsOf(context)).toContain("wlw_token");
  expect(knowsAllSecrets(context)).toBe(false);
  expect(maskerOf(context)("it is the-secret-key")).toBe(secretsLost);
  expect(() => checkSecretsKnown(context)).toThrow(secretsLost);
  context.journal.close();
});

test("the key of a work directory is private, and the same after a restart", () => {
  const key = openSealKey(place);
  expect(key).toHaveLength(43);
  expect(statSync(join(place, "seal-key")).mode & 0o777).toBe(0o600);
  expect(openSealKey(place)).toBe(key);
});

test("passwords of the agent's proxies are secrets, as they are written and as they are meant", () => {
  const proxy = "http://ada:p%40ss-word@proxy.example.com:3128";
  const { context } = contextOf(join(place, "proxies"), "wlw_token", {
    HTTPS_PROXY: proxy,
    HTTP_PROXY: proxy,
    NO_PROXY: "localhost,10.0.0.0/8",
    SSL_CERT_FILE: "/etc/ca.pem",
    https_proxy: "http://ada:100%25x%@proxy.example.com",
  });
  expect(secretsOf(context)).toEqual([
    "job-token",
    "wlw_token",
    "p%40ss-word",
    "p@ss-word",
    "100%25x%",
  ]);
  expect(maskerOf(context)(`HTTPS_PROXY=${proxy}`)).toBe(
    "HTTPS_PROXY=http://ada:***@proxy.example.com:3128",
  );
  context.journal.close();
});

test("secrets over the limit of lines are refused, and not masked", () => {
  const { context } = contextOf(join(place, "three"), "wlw_token");
  const setSecrets = (texts: number, lines: number): void => {
    const value = Array.from({ length: texts }, (_, text) =>
      Array.from({ length: lines }, (__, line) => `secret-${text}-${line}`).join("\n"),
    );
    Object.assign(context.claim.job.config_snapshot, {
      variables: { keys: { value, sensitive: true } },
    });
  };
  setSecrets(10, 1000);
  checkSecrets(context);
  expect(secretsOf(context)).toHaveLength(12);
  for (const [texts, lines] of [
    [11, 1000],
    [10_001, 1],
  ] as const) {
    setSecrets(texts, lines);
    expect(() => checkSecrets(context)).toThrow(
      "more than 10000 lines and texts, too many to be masked",
    );
    expect(secretsOf(context).length).toBeLessThan(10_003);
  }
  context.journal.close();
});

test("messages of errors name no directory of the runner, except where a state is kept", () => {
  const { context } = contextOf(join(place, "messages"), "wlw_token");
  const settings = { ...context.settings, workDir: "/var/lib/agent" };
  const mask = messageMaskerOf({ ...context, settings });
  const source = "/var/lib/agent/workspaces/job/source";
  expect(mask(`${source}/main.tf: no ${source}/m/ in /var/lib/agent/spool, wlw_token`)).toBe(
    "main.tf: no m/ in spool, ***",
  );
  const kept = "/var/lib/agent/rescued-states/job.tfstate";
  expect(mask(`the state is in ${kept}`)).toBe(`the state is in ${kept}`);
});

test("former secrets are masked like present ones, in every form", () => {
  const { context } = contextOf(join(place, "former"), "wlw_token");
  const setFormer = (former_secrets: unknown): void => {
    Object.assign(context.claim.job, { former_secrets });
  };
  setFormer(["old-password", "short", "-----BEGIN KEY-----\nold-first-line\n-----END KEY-----\n"]);
  const { mask, hides } = secrecyOf(secretsOf(context));
  expect(mask('"old-password" -> "now", short')).toBe('"***" -> "now", short');
  expect(mask(Buffer.from("old-password").toString("base64"))).toContain("***");
  expect(mask("      old-first-line")).toBe("      ***");
  expect(hides({ url: "https://ada:old-password@example.com" })).toBe(true);
  expect(missesFormer(context)).toBe(false);
  // Too many to be masked all. They are no reason to refuse the job.
  setFormer(Array.from({ length: 10_001 }, (_, n) => `former-${n}`));
  checkSecrets(context);
  expect(missesFormer(context)).toBe(true);
  expect(secretsOf(context)).toContain("former-9999");
  // A server without the field, or of another kind.
  for (const none of [undefined, null, true]) {
    setFormer(none);
    expect(secretsOf(context)).toEqual(["job-token", "wlw_token"]);
    expect(missesFormer(context)).toBe(false);
  }
  context.journal.close();
});
