/** Builds the texts of the files that `windlass agent install` and `server install` write. */

/** Settings that the installation writes; an undefined one stays unchanged. */
export type InstallSettings = Readonly<Record<string, string | undefined>>;

/** The first systemd with `DelegateSubgroup=`. */
const delegatingSystemd = 254;
const delegate = "DelegateSubgroup=agent";

/** For this version of systemd. Throws if the path cannot be written in a unit. */
export function unitOf(template: string, command: string, systemd: number): string {
  // A quote, a dollar or a percent sign would mean something else there (systemd.service(5),
  // "Command lines").
  if (!/^\/[A-Za-z0-9_.+@/-]+$/.test(command)) {
    throw new Error(
      `${command} cannot be written in a unit file: install Windlass in a directory whose path has only letters, digits, and . _ + @ -`,
    );
  }
  const unit = template.replace(/^ExecStart=\S+ /m, `ExecStart=${command} `);
  const isMissing = systemd < delegatingSystemd && unit.includes(delegate);
  return isMissing ? withoutSubgroup(unit) : unit;
}

/**
 * Does by shells what `DelegateSubgroup=` says: one moves into the subgroup and becomes the agent,
 * and another, after every end, takes the controllers off, which running jobs need and the next
 * start must not find.
 */
function withoutSubgroup(unit: string): string {
  const own = "/sys/fs/cgroup$$(sed s/^0::// /proc/self/cgroup)";
  const enter = `g=${own}/agent; mkdir -p "$$g"; echo $$$$ >"$$g/cgroup.procs"`;
  // systemd runs it in the subgroup .control.
  const leave = `echo -memory -pids >"${own}/../cgroup.subtree_control"`;
  return unit
    .replace(/^ExecStart=(.*)$/m, (_, agent) => `ExecStart=/bin/sh -c '${enter}; exec ${agent}'`)
    .replace(delegate, () => `ExecStopPost=-/bin/sh -c '${leave}'`);
}

/** Returns the environment file with these settings; every other line of the earlier file stays. */
export function environmentOf(
  role: "agent" | "server",
  before: string,
  settings: InstallSettings,
): string {
  const header = `# Settings of the Windlass ${role}. windlass ${role} --help lists all of them.`;
  const lines = before === "" ? [header] : before.replace(/\n+$/, "").split("\n");
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined) continue;
    const line = `${name}=${quoted(value)}`;
    const at = lines.findIndex((each) => each.startsWith(`${name}=`));
    if (at >= 0) lines[at] = line;
    else lines.push(line);
  }
  return `${lines.join("\n")}\n`;
}

/** systemd.exec(5), EnvironmentFile: within double quotes these four are escaped by a backslash. */
const quoted = (value: string): string =>
  /^[A-Za-z0-9_.,:/@=-]*$/.test(value) ? value : `"${value.replaceAll(/["\\`$]/g, "\\$&")}"`;

/** Directories that `ProtectHome=yes` hides from the service. */
export const isHidden = (path: string): boolean => /^\/(home|root|run\/user)\//.test(path);
