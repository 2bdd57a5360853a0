/** Installs a role as a service of this machine. Run again, it changes only what differs. */
import {
  chmodSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory, readIfExists } from "../files.ts";
import { ConfigError } from "../settings/config-error.ts";
import { installedIn } from "../version.ts";
import { environmentOf, isHidden, unitOf, type InstallSettings } from "./files.ts";

export interface Installation {
  readonly role: "agent" | "server";
  readonly settings: InstallSettings;
  /** The setting without which the service cannot start, and how to give it. */
  readonly required: readonly [setting: string, advice: string];
  /** Secrets by the name of their file in /etc/credstore; an undefined one stays unchanged. */
  readonly credentials?: InstallSettings;
  /** Whether the service has a user that is created here, by windlass-{role}.sysusers.conf. */
  readonly hasUser?: boolean;
  /** Everything is written below this directory; `/` for this machine itself. */
  readonly root: string;
  /** Enables and starts the service. */
  readonly start: boolean;
  /** Runs a program of systemd and returns its output. */
  run(program: string, args: readonly string[]): Promise<string>;
  say(line: string): void;
}

/** The service cannot be installed; the message says what to do. */
export class InstallError extends Error {
  override readonly name = "InstallError";
}

const templates = join(import.meta.dirname, "../../systemd");
const oldestSystemd = 250;

/**
 * Throws `ConfigError` or `InstallError` before anything is changed; later what `run` throws if a
 * program of systemd fails.
 */
export async function installService(installation: Installation): Promise<void> {
  const { role, required, credentials = {}, hasUser = false, root, run, say } = installation;
  const isHere = root === "/";
  if (isHere && process.getuid?.() !== 0)
    throw new InstallError("the command writes to /etc and starts a service: run it with sudo");
  const command = ownCommand();
  if (isHidden(command))
    throw new InstallError(
      `the service's own user cannot read ${command}: copy Windlass to /opt/windlass and run /opt/windlass/bin/windlass ${role} install`,
    );
  const unit = `windlass-${role}.service`;
  const paths = {
    unit: join(root, "etc/systemd/system", unit),
    user: join(root, `etc/sysusers.d/windlass-${role}.conf`),
    settings: join(root, `etc/windlass/${role}.env`),
  };
  const settings = environmentOf(role, readIfExists(paths.settings) ?? "", installation.settings);
  const [setting, advice] = required;
  if (!new RegExp(`^${setting}=\\S`, "m").test(settings)) throw new ConfigError(advice);
  const text = unitOf(template(unit), command, await systemdVersion(run, role));

  const changed = [
    hasUser && put(paths.user, template(`windlass-${role}.sysusers.conf`), 0o644),
    put(paths.settings, settings, 0o640),
    ...Object.entries(credentials).map(
      ([name, secret]) =>
        secret !== undefined && put(join(root, "etc/credstore", name), `${secret}\n`, 0o600),
    ),
    put(paths.unit, text, 0o644),
  ].filter(Boolean);
  for (const path of changed) say(`written: ${String(path)}`);
  if (changed.length === 0) say("all files are up to date");

  if (hasUser) {
    await run("systemd-sysusers", [`--root=${root}`, paths.user]);
    say(`the user windlass-${role} exists${isHere ? "" : ` below ${root}`}`);
  }
  await run("systemd-analyze", ["verify", "--man=no", "--recursive-errors=no", paths.unit]);
  say("systemd accepts the unit");
  if (!isHere) return say(`installed below ${root}; nothing is started here`);
  if (!existsSync("/run/systemd/system"))
    return say(
      `systemd is not running here, so nothing is started. When it runs: systemctl daemon-reload && systemctl enable --now ${unit}`,
    );
  await run("systemctl", ["daemon-reload"]);
  if (!installation.start) return say(`to start it: systemctl enable --now ${unit}`);
  await run("systemctl", ["enable", unit]);
  // A running service gets the new unit and settings. The terraform of an agent keeps running, and
  // the new process continues with it.
  await run("systemctl", ["restart", "--no-block", unit]);
  say(`enabled and started. To watch it: systemctl status ${unit}; journalctl -fu ${unit}`);
}

/**
 * As the link `windlass` beside it if that leads to it (deploy/install.sh): it will lead to the
 * next version.
 */
function ownCommand(): string {
  const command = realpathSync(join(installedIn(), "bin/windlass"));
  const linked = join(installedIn(), "../windlass/bin/windlass");
  return existsSync(linked) && realpathSync(linked) === command ? linked : command;
}

/** Returns systemd's version. Throws `InstallError` if there is none, or one that is too old. */
async function systemdVersion(run: Installation["run"], role: string): Promise<number> {
  let version: number;
  try {
    version = Number(/^systemd (\d+)/.exec(await run("systemctl", ["--version"]))?.[1]);
  } catch {
    throw new InstallError(
      `this machine has no systemd: run the ${role} in a container, or under its own supervisor`,
    );
  }
  if (version < oldestSystemd)
    throw new InstallError(
      `systemd ${version} is too old: the unit needs ${oldestSystemd} or newer, because it reads credentials from /etc/credstore`,
    );
  return version;
}

const template = (name: string): string => readFileSync(join(templates, name), "utf8");

/** Writes a file atomically. Returns its path if that changed anything. */
function put(path: string, content: string, mode: number): string | undefined {
  if (readIfExists(path) === content) {
    chmodSync(path, mode);
    return undefined;
  }
  makeDirectory(dirname(path));
  const temporary = `${path}.new`;
  writeFileSync(temporary, content, { mode });
  chmodSync(temporary, mode);
  renameSync(temporary, path);
  return path;
}
