/** `windlass server issuer`: the keys of the tokens for jobs. The server may be running. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { unknownWord, wrongUsage } from "../../common/wrong-usage.ts";
import { readConfig, type ServerConfig } from "../config.ts";
import { openSecretKeys } from "../data-directory/secret-keys.ts";
import { secretBox } from "../domain/secret-box.ts";
import { describeIssuer, issuerFiles, publishKeys } from "../services/issuer/issuer.ts";
import { dropIssuerKey, makeFirstKey, rotateIssuerKey } from "../services/issuer/keys.ts";
import type { Store } from "../store/db.ts";
import { findFact } from "../store/facts.ts";
import { withStore } from "./beside-server.ts";

const usage = `Usage: windlass server issuer rotate
       windlass server issuer export DIRECTORY
       windlass server issuer drop [--yes] -- KEY

The issuer signs the tokens with which jobs sign in to clouds and to Vault. The
command needs access to the server's data directory (WINDLASS_DATA_DIR), or to
its PostgreSQL database (WINDLASS_DATABASE_URL). The server may be running.

  rotate             publish a new key. The server signs with it an hour after
                     it has read the key at the issuer's jwks_uri itself, and
                     drops the old key a day later
  export DIRECTORY   write what the issuer publishes as files, for a bucket at
                     WINDLASS_ISSUER_URL. Repeat it after each rotate or drop
  drop KEY           drop a key that has leaked, at once. KEY is its id ("kid").
                     Without --yes, say what stops working, and change nothing

Examples:
  windlass server issuer rotate
  windlass server issuer export public
  windlass server issuer drop -- NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs
`;

const verbs = { rotate: "takes no argument", export: "name one directory", drop: "name one key" };
type Verb = keyof typeof verbs;

export async function issuer(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { yes: { type: "boolean" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return void process.stdout.write(usage);
  const [verb, named, ...rest] = positionals;
  const name = "windlass server issuer";
  if (verb === "rotate" && named === undefined) return withIssuer(rotate);
  if (verb === "export" && named !== undefined && rest.length === 0)
    return withIssuer((context) => exportTo(context, named));
  if (verb === "drop" && named !== undefined && rest.length === 0)
    return withIssuer((context) => drop(context, named, values.yes === true));
  process.exitCode = 2;
  process.stderr.write(
    verb === undefined
      ? usage
      : Object.hasOwn(verbs, verb)
        ? `${wrongUsage(name, `${name} ${verb}: ${verbs[verb as Verb]}`)}\n`
        : `${unknownWord(name, verb, Object.keys(verbs))}\n`,
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

async function drop(context: Issuing, kid: string, isConfirmed: boolean): Promise<void> {
  const known = (await publishKeys(context)).keys.map((one) => one.kid);
  if (!known.includes(kid)) {
    process.stderr.write(
      `windlass server issuer drop: the issuer has no key ${kid}. It has: ${known.join(", ") || "none"}\n`,
    );
    process.exitCode = 1;
  } else if (isConfirmed) {
    const next = await dropIssuerKey(context, kid);
    process.stdout.write(
      `The key ${kid} is dropped. The key ${next} signs from now on.\nIf the issuer is a bucket, put the files of "windlass server issuer export" there now.\n`,
    );
  } else {
    process.stdout.write(whatBreaks(kid));
    process.stderr.write("Nothing was changed. To drop the key, repeat the command with --yes.\n");
    process.exitCode = 2;
  }
}

const whatBreaks = (kid: string): string => `To drop the key ${kid} ends at once what it signed:
- Clouds and Vault refuse its tokens when they next read the keys. Running jobs
  lose their access then, and an apply may stop half way.
- If it signs now, another key signs at once, a new one if there is no other.
  Jobs that start are refused where that key is not known yet: until the keys
  are read again there, and if the issuer is a bucket, until the files of
  "windlass server issuer export" are put there.
- Who has cached the keys trusts the dropped one until then, often for hours.
  To end that, remove the trust in the issuer there, and give it anew.
- A backup of before has the key: drop it again after a restore.
`;

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
