/** `windlass server issuer`: the keys of the tokens for jobs. The server may be running. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { unknownWord, wrongUsage } from "../../common/wrong-usage.ts";
import { readConfig, type ServerConfig } from "../config.ts";
import { openSecretKeys } from "../data-directory/secret-keys.ts";
import { secretBox } from "../domain/secret-box.ts";
import { describeIssuer, issuerFiles, publishKeys } from "../services/issuer/issuer.ts";
import { makeFirstKey, rotateIssuerKey } from "../services/issuer/keys.ts";
import type { Store } from "../store/db.ts";
import { findFact } from "../store/facts.ts";
import { withStore } from "./beside-server.ts";

const usage = `Usage: windlass server issuer rotate
       windlass server issuer export DIRECTORY

The issuer signs the tokens with which jobs sign in to clouds and to Vault. The
command needs access to the server's data directory (WINDLASS_DATA_DIR), or to
its PostgreSQL database (WINDLASS_DATABASE_URL). The server may be running.

  rotate             publish a new key. The server signs with it an hour after
                     it has read the key at the issuer's jwks_uri itself, and
                     drops the old key a day later
  export DIRECTORY   write what the issuer publishes as files, for a bucket at
                     WINDLASS_ISSUER_URL. Repeat it after each rotate

Examples:
  windlass server issuer rotate
  windlass server issuer export public
`;

export async function issuer(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { help: { type: "boolean", short: "h" } },
  });
  if (values.help) return void process.stdout.write(usage);
  const [verb, directory, ...rest] = positionals;
  const name = "windlass server issuer";
  if (verb === "rotate" && directory === undefined) return withIssuer(rotate);
  if (verb === "export" && directory !== undefined && rest.length === 0)
    return withIssuer((context) => exportTo(context, directory));
  process.exitCode = 2;
  process.stderr.write(
    verb === undefined
      ? usage
      : ["rotate", "export"].includes(verb)
        ? `${wrongUsage(name, `${name} ${verb}: ${verb === "export" ? "name one directory" : "takes no argument"}`)}\n`
        : `${unknownWord(name, verb, ["rotate", "export"])}\n`,
  );
}

type Issuing = Parameters<typeof publishKeys>[0];

async function withIssuer(work: (context: Issuing) => Promise<void>): Promise<void> {
  const config = readConfig();
  await withStore(config, async (store) => {
    const keys = await openSecretKeys(config, store);
    const address = await addressOf(config, store);
    await work({
      store,
      box: (purpose) => secretBox(keys, purpose),
      now: Date.now,
      issuerUrl: () => address,
    });
  });
}

const addressOf = async (config: ServerConfig, store: Store): Promise<string> =>
  config.issuerUrl ??
  config.publicUrl ??
  (await findFact(store.read, "public_url")) ??
  `http://${config.host}:${config.port}`;

async function rotate(context: Issuing): Promise<void> {
  const { kid, isFirst, isPending, isRead } = await rotateIssuerKey(context);
  const at = `${context.issuerUrl()}/${issuerFiles.keys}`;
  if (isFirst) process.stdout.write(`The issuer has its first key, ${kid}, and signs with it.\n`);
  else
    process.stdout.write(
      `${isPending ? "A new key is published already" : "A new key is published"}: ${kid}\n${
        isRead
          ? `The server has read it at ${at} and signs with it an hour later.`
          : `The server signs with it an hour after it has read it at ${at}. If the issuer is a bucket, put the files of "windlass server issuer export" there.`
      }\n`,
    );
}

async function exportTo(context: Issuing, directory: string): Promise<void> {
  await makeFirstKey(context);
  const files = {
    [issuerFiles.configuration]: describeIssuer(context),
    [issuerFiles.keys]: await publishKeys(context),
  };
  // Public, also for a web server of another user; the umask of the process is for secrets.
  const umask = process.umask(0o022);
  try {
    for (const [name, content] of Object.entries(files)) {
      const path = join(directory, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(`${path}.new`, `${JSON.stringify(content, null, 2)}\n`);
      await rename(`${path}.new`, path);
      process.stdout.write(`written: ${path}\n`);
    }
  } finally {
    process.umask(umask);
  }
  process.stdout.write(
    `Serve both below ${context.issuerUrl()}/ as application/json, to everyone.\n`,
  );
}
