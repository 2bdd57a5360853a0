/** Installs the agent as a service of this machine. Run again, it changes only what differs. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { readIfExists } from "../../common/files.ts";
import { runProgram } from "../machine/programs.ts";
import { environmentOf, isHidden, unitOf, type InstallSettings } from "./files.ts";

export interface Installation {
  readonly settings: InstallSettings;
  readonly registrationToken: string | undefined;
  /** Everything is written below this folder; `/` for this machine itself. */
  readonly root: string;
  /** The `windlass` command that the service runs. */
  readonly command: string;
  /** Enables and starts the service. */
  readonly start: boolean;
  say(line: string): void;
}

/** The agent cannot be installed; the message says what to do. */
export class InstallError extends Error {
  override readonly name = "InstallError";
}

const unit = "windlass-agent.service";
const folder = join(import.meta.dirname, "../../systemd");
const oldestSystemd = 250;

/**
 * Writes the files and, on a running system, starts the service. Throws `InstallError` before
 * anything is changed, and `ProgramError` if a program of systemd fails.
 */
export async function install(installation: Installation): Promise<void> {
  const { root, say } = installation;
  const isHere = root === "/";
  if (isHere && process.getuid?.() !== 0)
    throw new InstallError("the command writes to /etc and starts a service: run it with sudo");
  const command = realpathSync(installation.command);
  if (isHidden(command))
    throw new InstallError(
      `the service's own user cannot read ${command}: copy Windlass to /opt/windlass and run /opt/windlass/bin/windlass agent install`,
    );
  const paths = {
    unit: join(root, "etc/systemd/system", unit),
    user: join(root, "etc/sysusers.d/windlass-agent.conf"),
    settings: join(root, "etc/windlass/agent.env"),
    token: join(root, "etc/credstore/windlass-agent.registration-token"),
  };
  const settings = environmentOf(readIfExists(paths.settings) ?? "", installation.settings);
  if (!/^WINDLASS_URL=\S/m.test(settings))
    throw new InstallError(
      "--url is missing: pass the address of the control plane, such as --url https://windlass.example.com",
    );
  const text = unitOf(readFileSync(join(folder, unit), "utf8"), command, await systemdVersion());

  const changed = [
    put(paths.user, readFileSync(join(folder, "windlass-agent.sysusers.conf"), "utf8"), 0o644),
    put(paths.settings, settings, 0o640),
    installation.registrationToken !== undefined &&
      put(paths.token, `${installation.registrationToken}\n`, 0o600),
    put(paths.unit, text, 0o644),
  ].filter(Boolean);
  for (const path of changed) say(`written: ${String(path)}`);
  if (changed.length === 0) say("all files are up to date");

  await runProgram("systemd-sysusers", [`--root=${root}`, paths.user]);
  say("the user windlass-agent exists");
  await runProgram("systemd-analyze", ["verify", "--man=no", "--recursive-errors=no", paths.unit]);
  say("systemd accepts the unit");
  if (!isHere) return say(`installed below ${root}; nothing is started here`);
  if (!existsSync("/run/systemd/system"))
    return say(
      `systemd is not running here, so nothing is started. When it runs: systemctl daemon-reload && systemctl enable --now ${unit}`,
    );
  await runProgram("systemctl", ["daemon-reload"]);
  if (!installation.start) return say(`to start it: systemctl enable --now ${unit}`);
  await runProgram("systemctl", ["enable", unit]);
  // A running agent gets the new unit and settings. Its terraform keeps running, and the new
  // process continues with it.
  await runProgram("systemctl", ["restart", "--no-block", unit]);
  say(`enabled and started. To watch it: systemctl status ${unit}; journalctl -fu ${unit}`);
}

/** Returns systemd's version. Throws `InstallError` if there is none, or one that is too old. */
async function systemdVersion(): Promise<number> {
  let version: number;
  try {
    version = Number(/^systemd (\d+)/.exec(await runProgram("systemctl", ["--version"]))?.[1]);
  } catch {
    throw new InstallError(
      "this machine has no systemd: run the agent in a container, or under its own supervisor",
    );
  }
  if (version < oldestSystemd)
    throw new InstallError(
      `systemd ${version} is too old: the unit needs ${oldestSystemd} or newer, because it reads credentials from /etc/credstore`,
    );
  return version;
}

/** Writes a file atomically. Returns its path if that changed anything. */
function put(path: string, content: string, mode: number): string | undefined {
  if (readIfExists(path) === content) {
    chmodSync(path, mode);
    return undefined;
  }
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.new`;
  writeFileSync(temporary, content, { mode });
  chmodSync(temporary, mode);
  renameSync(temporary, path);
  return path;
}
