/** `windlass server`: the control plane. */
import { readConfig, readNetwork, type ServerConfig } from "./config.ts";
import { failureOf } from "./command-error.ts";
import { trustAuthorities } from "../common/network.ts";
import { settingsHelp } from "../common/settings/help.ts";
import { registry } from "../common/settings/registry.ts";
import { program, version } from "../common/version.ts";
import { unknownWord, wrongUsage } from "../common/wrong-usage.ts";

const usage = (): string => `Usage: windlass server [command]

Runs the control plane. SIGTERM or Ctrl-C stops it after the running requests
have ended, at the latest after WINDLASS_DRAIN_SECONDS; a second signal stops it
at once.

Commands:
  login-link --email ADDRESS   print a link with which the person with this
                               address can sign in once
  logins                       list who is signed in, and what permits it
  sign-out --email ADDRESS     end all logins of a person
  teams admin SLUG USER        make a user an admin of a team
  backup FILE                  write all of the server's data to one file; the
                               server may be running
  restore FILE                 restore a backup into the data directory of a
                               stopped server
  doctor [--oidc]              check what the server needs; with --oidc, what a
                               sign-in provider says of you
  install                      install the control plane as a systemd service
  health                       ask the running server whether it works
  rotate-key                   change the key that encrypts the data of a
                               stopped server
  issuer rotate | export DIR   change or export the keys of the tokens by which
                               jobs sign in to clouds
  migrate-store --from PLACE --to PLACE
                               move all data of a stopped server to another
                               database and another place for files

Options:
  -h, --help                   print this help
  -V, --version                print the version

Settings come from the environment; secrets also from a file (NAME_FILE) or a
systemd credential. docs/settings.md describes them in detail.

${settingsHelp(registry.server)}
Examples:
  windlass server
  WINDLASS_PORT=9000 WINDLASS_DATA_DIR=/srv/windlass windlass server
  windlass server login-link --email you@example.com
  windlass server backup /var/backups/windlass.tar.gz
`;

/** Each loads only what it needs, because loading the whole server takes a second. */
const commands = new Map<string, (args: string[]) => Promise<void>>([
  ["login-link", async (args) => (await import("./commands/login-link.ts")).loginLink(args)],
  ["logins", async (args) => (await import("./commands/logins.ts")).logins(args)],
  ["sign-out", async (args) => (await import("./commands/sign-out.ts")).signOut(args)],
  ["teams", async (args) => (await import("./commands/teams.ts")).teams(args)],
  ["backup", async (args) => (await import("./commands/backup.ts")).backup(args)],
  ["restore", async (args) => (await import("./commands/restore.ts")).restore(args)],
  ["doctor", async (args) => (await import("./commands/doctor.ts")).doctor(args)],
  ["install", async (args) => (await import("./commands/install.ts")).install(args)],
  ["health", async (args) => (await import("./commands/health.ts")).health(args)],
  ["issuer", async (args) => (await import("./commands/issuer.ts")).issuer(args)],
  ["rotate-key", async (args) => (await import("./commands/rotate-key.ts")).rotateKey(args)],
  [
    "migrate-store",
    async (args) => (await import("./commands/migrate-store.ts")).migrateStore(args),
  ],
]);

/** The role's entry. Exit codes: 0 stopped, 1 failed, 2 wrong usage, 78 bad configuration. */
export async function main(args: string[]): Promise<void> {
  // Only the server's user may read its files, even in a directory that others may enter.
  process.umask(0o077);
  const [command, ...rest] = args;
  if (command === "--help" || command === "-h" || command === "help")
    return void process.stdout.write(usage());
  if (command === "--version" || command === "-V")
    return void process.stdout.write(`${version()}\n`);
  try {
    trustAuthorities(readNetwork());
    if (command === undefined) return await serve(readConfig());
    const run = commands.get(command);
    if (run === undefined)
      return fail(unknownWord("windlass server", command, [...commands.keys()]), 2);
    await run(rest);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS")) {
      const name = `windlass server ${command}`;
      return fail(wrongUsage(name, `${name}: ${(error as Error).message}`), 2);
    }
    const { text, exitCode } = failureOf(error, command === "backup");
    fail(`windlass server: ${text}`, exitCode);
  }
}

async function serve(config: ServerConfig): Promise<void> {
  const [{ default: closeWithGrace }, { logReady, openLog }, { systemdNotifier }, { startServer }] =
    await Promise.all([
      import("close-with-grace"),
      import("../common/log.ts"),
      import("../common/notify-systemd.ts"),
      import("./server.ts"),
    ]);
  const log = await openLog(config);
  for (const warning of config.warnings) log.warn(warning);
  const server = await startServer(config, log);
  const { dataDirectory, postgres } = config;
  const database = postgres === undefined ? "" : "a PostgreSQL database and ";
  logReady(log, config, {
    fields: { version: version(), url: server.url, data_directory: dataDirectory },
    message: `the control plane is ready at ${server.context.publicUrl()}`,
    more: [
      `It keeps its data in ${database}${dataDirectory}.`,
      `To sign in: ${program()} server login-link --email you@example.com. Ctrl-C stops it.`,
    ],
  });
  const notify = systemdNotifier(config.notifySocket, log);
  notify("READY=1");
  closeWithGrace(
    { delay: config.drainSeconds * 1000 + 10_000, logger: false },
    async ({ signal, err }) => {
      if (err) log.fatal({ err }, "the control plane stops after an unhandled error");
      else log.info(`${signal ?? "stop requested"}: finishing running requests, then stopping`);
      notify("STOPPING=1");
      await server.close();
      log.info("stopped");
    },
  );
}

function fail(text: string, exitCode: number): void {
  process.stderr.write(`${text.trimEnd()}\n`);
  process.exitCode = exitCode;
}
