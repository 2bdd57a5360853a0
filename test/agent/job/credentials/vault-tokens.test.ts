/** What becomes of a job's tokens of Vault, whatever agent ends the job. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  heldTokens,
  rememberToken,
  revokeHeld,
  revokeTokens,
} from "../../../../agent/job/credentials/vault-tokens.ts";
import type { JobContext } from "../../../../agent/job/context.ts";
import { obtainCredentials } from "../../../../agent/job/credentials/credentials.ts";
import { giveUp } from "../../../../agent/job/give-up.ts";
import { openJournal, type Journal } from "../../../../agent/job/journal.ts";
import { workspaceAt } from "../../../../agent/job/workspace.ts";
import { folderForEachTest } from "../../../helpers/machine/folders.ts";
import { listen, type Listening } from "../../../helpers/network/listen.ts";

let place: string;
folderForEachTest((path) => (place = path));

/** Revokes, refuses or is away; tells which tokens it was asked for. */
let vault: Listening;
let status: number;
const revoked: string[] = [];
let meanwhile: (() => void) | undefined;
beforeEach(async () => {
  [status, meanwhile] = [204, undefined];
  revoked.length = 0;
  vault = await listen(
    createServer((request, response) => {
      revoked.push(String(request.headers["x-vault-token"]));
      meanwhile?.();
      meanwhile = undefined;
      response.writeHead(status).end(status === 204 ? "" : '{"errors":["no"]}');
    }),
  );
});
const journals: Journal[] = [];
afterEach(async () => {
  for (const journal of journals.splice(0)) journal.close();
  await vault[Symbol.asyncDispose]();
});

/** The job as an agent sees it, the first one or one after a restart. */
function agent(): JobContext {
  const journal = openJournal(place);
  journals.push(journal);
  const workspace = workspaceAt(join(place, "workspace"));
  mkdirSync(workspace.home, { recursive: true });
  return {
    claim: {
      job: { id: "job", config_snapshot: {} },
      cloud_identity: { provider: "vault", address: vault.url, mount: "jwt" },
    },
    journal,
    workspace,
    isolation: { killAll: () => Promise.resolve() },
    directory: place,
    settings: { workDir: place, network: {}, sealKey: "key", workerToken: "token", gitAccess: [] },
    log: { addSecrets: () => {} },
  } as unknown as JobContext;
}

const tokensOf = (context: JobContext): string[] => heldTokens(context).map(({ token }) => token);
const fileOf = ({ workspace }: JobContext): string => join(workspace.home, ".vault-token");

test("all tokens of a job are revoked once, by the agent that ends it, and are in no file", async () => {
  const first = agent();
  writeFileSync(fileOf(first), "hvs.two");
  rememberToken(first, "plan", "hvs.one");
  rememberToken(first, "apply", "hvs.two");
  expect(readFileSync(join(place, "journal.ndjson"), "utf8")).not.toContain("hvs.");
  const second = agent();
  expect(heldTokens(second)).toEqual([
    { phase: "plan", token: "hvs.one" },
    { phase: "apply", token: "hvs.two" },
  ]);
  expect(await revokeTokens(second)).toBeUndefined();
  expect(revoked.toSorted()).toEqual(["hvs.one", "hvs.two"]);
  expect(existsSync(fileOf(second))).toBe(false);
  expect(tokensOf(agent())).toEqual([]);
  expect(await revokeTokens(agent())).toBeUndefined();
  expect(revoked).toHaveLength(2);
});

test("a job without tokens asks Vault nothing", async () => {
  expect(await revokeTokens(agent())).toBeUndefined();
  expect(revoked).toEqual([]);
});

test("while Vault is away, tokens stay known, for the next agent too", async () => {
  const first = agent();
  rememberToken(first, "apply", "hvs.one");
  status = 503;
  expect(await revokeTokens(first)).toBe("503 no");
  status = 204;
  const second = agent();
  expect(tokensOf(second)).toEqual(["hvs.one"]);
  expect(await revokeTokens(second)).toBeUndefined();
  expect(revoked).toEqual(["hvs.one", "hvs.one"]);
});

test("a token that Vault refuses to revoke is told, and not tried again", async () => {
  const context = agent();
  rememberToken(context, "apply", "hvs.one");
  status = 403;
  expect(await revokeTokens(context)).toBe("403 no");
  expect(tokensOf(context)).toEqual([]);
});

test("a job that is given up is reported, whatever revoking its tokens throws", async () => {
  const context = agent();
  rememberToken(context, "apply", "hvs.one");
  context.journal.close();
  await expect(revokeTokens(context)).rejects.toThrow("journal is closed");
  const { status: end, error_message } = await giveUp(context, "crashed");
  expect([end, error_message]).toEqual([
    "FAILED",
    expect.stringMatching(/^crashed; .*; Vault did not revoke its token: .*journal is closed$/),
  ]);
});

test("a token that comes while others are revoked is the next phase's, and is revoked at the end", async () => {
  const context = agent();
  rememberToken(context, "plan", "hvs.plan");
  meanwhile = () => rememberToken(context, "apply", "hvs.apply");
  expect(await revokeHeld(context)).toBeUndefined();
  expect(tokensOf(context)).toEqual(["hvs.apply"]);
  meanwhile = () => rememberToken(context, "apply", "hvs.late");
  expect(await revokeTokens(context)).toBeUndefined();
  expect(revoked).toEqual(["hvs.plan", "hvs.apply", "hvs.late"]);
});

test("a directory in place of the file keeps no token from being revoked", async () => {
  const context = agent();
  rememberToken(context, "apply", "hvs.one");
  mkdirSync(fileOf(context));
  expect(await revokeTokens(context)).toBeUndefined();
  expect(revoked).toEqual(["hvs.one"]);
});

test("an address that no URL can have fails the job with what to check", async () => {
  const context = agent();
  const cloud_identity = {
    ...context.claim.cloud_identity,
    address: "https://vault:99999",
    role: "deploy",
    audience: "urn:a",
  } as NonNullable<JobContext["claim"]["cloud_identity"]>;
  const wrong = { ...context, claim: { ...context.claim, cloud_identity } };
  await expect(obtainCredentials.run(wrong)).rejects.toThrow(
    "credentials: https://vault:99999 is no address of a Vault",
  );
});
