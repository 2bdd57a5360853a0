/**
 * Level `container`: docker or podman runs the job in the operator's image, with the machine's
 * network and only the job's directories and the engine. The client passes signals on and ends with
 * terraform's exit code; if it is killed, the container is removed by its label.
 */
import { realpathSync } from "node:fs";
import { basename } from "node:path";
import { runProgram } from "../../machine/programs.ts";
import type { RunCommand } from "../terraform/spawn.ts";
import { writableFor } from "./by-bubblewrap.ts";
import { byProcess } from "./by-process.ts";
import { byUser } from "./by-user.ts";
import { enter } from "./enter.ts";
import { containerLimits } from "./limits.ts";
import type { LevelIsolation, IsolationSettings, Place } from "./isolation.ts";
import { sandboxTemporary } from "./temporary.ts";
import { minute } from "../../../common/units.ts";

export function byContainer(place: Place, settings: IsolationSettings): LevelIsolation {
  const outer = place.user === undefined ? byProcess(place) : byUser(place, settings);
  const { engine, environment } = settings.container;
  const label = `windlass.job=${place.id}`;
  const ask = async (...args: string[]): Promise<string> => {
    const env = { PATH: settings.path, ...environment };
    return (await runProgram(engine, args, { env, timeout: minute })).trim();
  };
  return {
    ...outer,
    level: "container",
    temporary: () => sandboxTemporary,
    // Elsewhere, the job can only write to memory.
    passing: ["/"],
    wrap: (command) => contain(command, place, settings, label),
    async killAll() {
      const containers = await ask("ps", "--all", "--quiet", "--filter", `label=${label}`);
      if (containers !== "") await ask("rm", "--force", ...containers.split(/\s+/));
      return outer.killAll();
    },
  };
}

function contain(
  command: RunCommand,
  place: Place,
  settings: IsolationSettings,
  label: string,
): RunCommand {
  const { engine, image = "", environment } = settings.container;
  // The image has its own shell.
  const isInImage = command.command === "/bin/sh";
  const program = isInImage ? command.command : realpathSync(command.command);
  const inner = enter({ ...command, command: program });
  const user = place.user ?? process.getuid?.() ?? 0;
  const group = place.user ?? process.getgid?.() ?? 0;
  return {
    ...command,
    env: { ...inner.env, PATH: settings.path, ...environment },
    command: engine,
    args: [
      ["run", "--rm", "--name", `windlass-${place.id}-${basename(command.directory)}`],
      ["--label", label, "--network", "host", "--user", `${user}:${group}`],
      // Podman without root maps users: this maps the job's user to the owner of its directories.
      engine === "podman" && place.user === undefined ? ["--userns", "keep-id"] : [],
      ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only"],
      ["--tmpfs", "/tmp"],
      settings.limits ? containerLimits(settings.limits) : [],
      ...settings.readable.map((path) => bind(path, ",readonly")),
      isInImage ? [] : bind(program, ",readonly"),
      bind(place.workspace.root, ",readonly"),
      ...writableFor(place).map((path) => bind(path)),
      bind(place.workspace.temporary, "", sandboxTemporary),
      ["--workdir", command.cwd],
      // Only the name, so that the values are not among the arguments.
      ...Object.keys(inner.env).map((name) => (name === "PATH" ? [] : ["--env", name])),
      ["--entrypoint", inner.command, image, ...inner.args],
    ].flat(),
  };
}

const bind = (path: string, how = "", target = path): string[] => [
  "--mount",
  `type=bind,source=${path},target=${target}${how}`,
];
