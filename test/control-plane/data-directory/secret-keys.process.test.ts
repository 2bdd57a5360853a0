/**
 * The key for encryption at rest: a wrong or lost key is detected at the start, and the key can be
 * replaced.
 */
import { insertDefinition } from "../../../control-plane/store/definitions/definitions.ts";
import { textOf } from "../../../control-plane/services/definitions.ts";
import { execa } from "execa";
import { randomUUID } from "node:crypto";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import { ConfigError } from "../../../common/settings/config-error.ts";
import { readConfig } from "../../../control-plane/config.ts";
import { openContext, type OpenContext } from "../../../control-plane/context.ts";
import { secretBox } from "../../../control-plane/domain/secret-box.ts";
import { seal, unseal, type Definition } from "../../../control-plane/domain/snapshot.ts";
import { hashKeyOf } from "../../../control-plane/services/configurations/config-hash.ts";
import { Claims } from "../../../control-plane/services/claims/claims.ts";
import { removeFact, secretKeyChecks } from "../../../control-plane/store/facts.ts";
import { findWorkerCaller } from "../../../control-plane/store/workers/workers.ts";
import { jobToken } from "../../../control-plane/services/states/job-tokens.ts";
import { addJob, addOwner, addSpec, addWorker, type Owner } from "../../helpers/plane/rows.ts";
import { bin } from "../../helpers/cli/windlass.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";
import { readRow, setRows } from "../../helpers/plane/plane.ts";

vi.setConfig({ testTimeout: 60_000 });

const [first, second] = ["first".padEnd(40, "1"), "second".padEnd(40, "2")];
const secret = "correct horse battery staple";

let directory: string;
folderForEachTest((path) => {
  directory = path;
});

const settings = (key?: string, older?: string): Record<string, string> => ({
  WINDLASS_DATA_DIR: directory,
  ...(key === undefined ? {} : { WINDLASS_SECRET_KEY: key }),
  ...(older === undefined ? {} : { WINDLASS_SECRET_KEY_OLD: older }),
});
const open = (key?: string, older?: string) => openContext(readConfig(settings(key, older)));

/** Opens a context, runs the work, and closes it. */
async function within<T>(
  context: Promise<OpenContext>,
  work: (context: OpenContext) => Promise<T>,
): Promise<T> {
  const opened = await context;
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

const definition = {
  source: { type: "inline", files: { "main.tf": "" } },
  variables: { password: { value: secret, sensitive: true } },
} as const satisfies Definition;

/** Adds a queued job with a sensitive variable. */
async function addSealedJob(
  context: OpenContext,
  owner: Owner,
  change = {},
  box = context.box("variables"),
): Promise<string> {
  const { id } = await addJob(context.store, owner, change);
  const snapshot = JSON.stringify(seal(definition, box, id));
  await setRows({ context }, "job_snapshots", { config_snapshot: snapshot }, { job_id: id });
  return id;
}

async function claim(context: OpenContext, owner: Owner) {
  const { id } = await addWorker(context.store, owner);
  const worker = (await context.store.read.first(findWorkerCaller, { id }))!;
  const claims = new Claims(context);
  const answer = await claims.claim({
    worker: { ...worker, origin: undefined } as never,
    key: undefined,
    waitMilliseconds: 0,
    disconnected: () => AbortSignal.abort(),
  });
  await claims.close();
  return answer === null ? null : (JSON.parse(answer) as { job: { id: string } });
}

describe("the secret key", () => {
  it("that is wrong is refused at the start, and the right one works again", async () => {
    await within(open(first), async () => undefined);
    await expect(open(second)).rejects.toThrow(ConfigError);
    await expect(open(second)).rejects.toThrow(/WINDLASS_SECRET_KEY is not the key.*_OLD/);
    await within(open(first), async () => undefined);
  });

  it("that is lost is refused at the start, and no new one is generated", async () => {
    await within(open(), async () => undefined);
    const secrets = join(directory, "secrets");
    await rm(join(secrets, "WINDLASS_SECRET_KEY"));
    await expect(open()).rejects.toThrow(/its key is missing/);
    expect(await readdir(secrets)).toEqual(["CLI_JWT_SECRET"]);
    await writeFile(join(secrets, "WINDLASS_SECRET_KEY"), second);
    await expect(open()).rejects.toThrow(`${secrets}/WINDLASS_SECRET_KEY is not the key`);
  });

  it("is checked against stored values if an older release left no check value", async () => {
    await within(open(first), async (context) => {
      await addSealedJob(context, await addOwner(context.store));
      await context.store.write((tx) => removeFact(tx, secretKeyChecks));
    });
    await expect(open(second)).rejects.toThrow(/is not the key/);
    await within(open(first), async () => undefined);
  });

  it("is not checked against a variable that is named sealed", async () => {
    await within(open(first), async (context) => {
      const owner = await addOwner(context.store);
      const variables = { sealed: { value: "text" } };
      for (let n = 0; n < 2; n += 1) await addSpec(context.store, owner);
      const text = JSON.stringify({ ...definition, variables });
      await setRows({ context }, "specs", { definition: text });
      await context.store.write((tx) => removeFact(tx, secretKeyChecks));
    });
    // Nothing is sealed, so every key is accepted.
    await within(open(second), async (context) => {
      await addSealedJob(context, await addOwner(context.store));
      await context.store.write((tx) => removeFact(tx, secretKeyChecks));
    });
    await expect(open(first)).rejects.toThrow(/is not the key/);
  });

  it("that cannot decrypt a job makes the claim end it as FAILED and take the next job", async () => {
    await within(open(first), async (context) => {
      const owner = await addOwner(context.store);
      const spec_id = await addSpec(context.store, owner);
      const box = secretBox([second], "variables");
      const unreadable = await addSealedJob(context, owner, { spec_id, job_type: "DEPLOY" }, box);
      const readable = await addSealedJob(context, owner, { spec_id });
      expect((await claim(context, owner))?.job.id).toBe(readable);
      const job = await readRow({ context }, "jobs", { id: unreadable });
      expect(job).toMatchObject({ status: "FAILED", started_at: null });
      expect(job.released_at).not.toBeNull();
      expect(job.error_message).toContain("cannot be decrypted");
      const spec = await readRow({ context }, "specs");
      expect(spec).toMatchObject({ status: "FAILED", error_message: job.error_message });
    });
  });
});

describe("rotate-key", () => {
  it("seals everything with the new key, can be repeated, and makes the old key useless", async () => {
    const stored = await within(open(first), async (context) => {
      const owner = await addOwner(context.store);
      const running = await addSealedJob(context, owner);
      const { blob } = await context.blobs.write(pieces(), Number.MAX_SAFE_INTEGER);
      const { blob: debugLog } = await context.blobs.write(pieces(), Number.MAX_SAFE_INTEGER);
      const { blob: log } = await context.blobs.write(pieces(), Number.MAX_SAFE_INTEGER);
      const artifact = { job_id: running, attempt: 1, blob, size_bytes: 1, sha256: "" };
      const spec = await addSpec(context.store, owner);
      const tokens = context.box("provider-tokens");
      const shared = { variables: definition.variables };
      const [worker, set] = [randomUUID(), randomUUID()];
      const snapshot = seal(definition, context.box("variables"), worker);
      const metadata = JSON.stringify({ deploy_configuration: { snapshot, all: true } });
      await addWorker(context.store, owner, { id: worker, metadata });
      for (const metadata of freeMetadata) await addWorker(context.store, null, { metadata });
      for (const metadata of oddMetadata) await addWorker(context.store, owner, { metadata });
      const hashKey = await context.store.write(async (tx) => {
        const about = randomUUID();
        const content = JSON.stringify(seal(shared, context.box("variables"), about));
        await insertDefinition(
          tx,
          { id: randomUUID(), about, bytes: 1, content },
          Number.MAX_SAFE_INTEGER,
        );
        await tx.sql
          .insertInto("plan_artifacts")
          .values({ ...artifact, created_at: 1 })
          .execute();
        await tx.sql
          .insertInto("debug_logs")
          .values({ ...artifact, blob: debugLog, created_at: 1 })
          .execute();
        await tx.sql
          .insertInto("log_archives")
          .values({
            job_id: running,
            blob: log,
            size_bytes: 1,
            marks_at: 1,
            index_at: 1,
            last_id: 1,
            last_seq: 1,
            last_at: 1,
          })
          .execute();
        await tx.sql
          .updateTable("specs")
          .set({ definition: JSON.stringify(seal(definition, context.box("variables"), spec)) })
          .execute();
        await tx.sql
          .insertInto("variable_sets")
          .values({
            id: set,
            owner_id: owner.id,
            name: "set",
            definition: JSON.stringify(seal(shared, context.box("variables"), set)),
            created_at: 1,
            updated_at: 1,
          })
          .execute();
        await tx.sql
          .insertInto("accounts")
          .values({
            provider: "github",
            host: "github.com",
            subject: "1",
            user_id: owner.id,
            email: "ada@example.com",
            access_token: tokens.seal(Buffer.from(secret), "github:1").toString("base64url"),
            refresh_token: tokens.seal(Buffer.from(`${secret}!`), "github:1").toString("base64url"),
            token_expires_at: null,
            created_at: 1,
            signed_in_at: 1,
          })
          .execute();
        return hashKeyOf(context, tx);
      });
      return { owner, running, blob, worker, set, hashKey, token: jobToken(context, running, 1) };
    });
    // A server with both keys reads values sealed with either, and issues tokens of the new one.
    await within(open(second, first), async (context) => {
      await addSealedJob(context, stored.owner);
      expect(
        context
          .box("job-token")
          .signatures(`${stored.running}:1`)
          .map((s) => `wlj_${s}`),
      ).toContain(stored.token);
      expect(await buffer(await context.blobs.read(stored.blob))).toEqual(content);
    });
    await expect(open(first)).rejects.toThrow(/is not the key/);
    await expect(open(second)).rejects.toThrow(/is not the key/);
    for (const said of ["6 values and 3 files", "0 values and 0 files"]) {
      const { stdout, stderr } = await execa(bin, ["server", "rotate-key"], {
        reject: false,
        env: settings(second, first),
      });
      // On a slow disk the progress is there too.
      expect(stderr.replaceAll(/^encrypting: .*$/gm, "").trim()).toBe("");
      expect(stdout).toContain(said);
    }
    await expect(open(first)).rejects.toThrow(/is not the key/);
    await within(open(second), async (context) => {
      const { sql } = context.store.read;
      expect((await claim(context, stored.owner))?.job.id).toBe(stored.running);
      const { blob } = await sql
        .selectFrom("plan_artifacts")
        .select("blob")
        .executeTakeFirstOrThrow();
      expect(await buffer(await context.blobs.read(blob))).toEqual(content);
      await expect(context.blobs.read(stored.blob)).rejects.toThrow("ENOENT");
      for (const table of ["debug_logs", "log_archives"] as const) {
        const log = await sql.selectFrom(table).select("blob").executeTakeFirstOrThrow();
        expect(await buffer(await context.blobs.read(log.blob))).toEqual(content);
      }
      const account = await sql
        .selectFrom("accounts")
        .select(["access_token", "refresh_token"])
        .executeTakeFirstOrThrow();
      const open = (token: string | null) =>
        context
          .box("provider-tokens")
          .open(Buffer.from(token ?? "", "base64url"), "github:1")
          .toString();
      expect(open(account.access_token)).toBe(secret);
      expect(open(account.refresh_token)).toBe(`${secret}!`);
      const { metadata } = await sql
        .selectFrom("workers")
        .select("metadata")
        .where("id", "=", stored.worker)
        .executeTakeFirstOrThrow();
      const { snapshot } = (
        JSON.parse(metadata) as { deploy_configuration: { snapshot: Definition } }
      ).deploy_configuration;
      expect(unseal(snapshot, context.box("variables"), stored.worker)).toEqual(definition);
      const shared = await sql
        .selectFrom("variable_sets")
        .select("definition")
        .executeTakeFirstOrThrow();
      const large = await sql
        .selectFrom("definitions")
        .select(["content", "about"])
        .executeTakeFirstOrThrow();
      for (const [text, about] of [
        [textOf(shared.definition), stored.set],
        [large.content, large.about],
      ] as const)
        expect(unseal(JSON.parse(text) as Definition, context.box("variables"), about)).toEqual({
          variables: definition.variables,
        });
      expect(await context.store.write((tx) => hashKeyOf(context, tx))).toEqual(stored.hashKey);
      const odd = await sql
        .selectFrom("workers")
        .select("metadata")
        .where("id", "<>", stored.worker)
        .where("token_hash", "=", "")
        .execute();
      expect(odd.map(({ metadata }) => metadata)).toEqual(
        expect.arrayContaining([...freeMetadata, ...oddMetadata]),
      );
    });
  });

  it("refuses the same key as old and new", async () => {
    await within(open(first), async () => undefined);
    const { exitCode, stdout, stderr } = await execa(bin, ["server", "rotate-key"], {
      reject: false,
      env: settings(first, first),
    });
    expect([exitCode, stdout]).toEqual([78, ""]);
    expect(stderr).toContain("the new key is also in WINDLASS_SECRET_KEY_OLD");
    await within(open(first), async () => undefined);
  });
});

/** Metadata that a pipeline may write for a cloud-hosted worker. */
const freeMetadata = [
  JSON.stringify({ deploy_configuration: { snapshot: { variables: { a: { sealed: 5 } } } } }),
];
/** Metadata of a worker that an older release accepted. */
const oddMetadata = [
  { variables: "text" },
  { variables: [null] },
  { environment: { a: null } },
  null,
  ["sealed"],
  "sealed",
].map((snapshot) =>
  JSON.stringify({ deploy_configuration: { snapshot }, note: { sealed: "anything" } }),
);

/** More than one sealed piece. */
const content = Buffer.alloc(200_000, "plan");
async function* pieces(): AsyncGenerator<Uint8Array> {
  yield content;
}
