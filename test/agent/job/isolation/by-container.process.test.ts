/**
 * The level `container` with a script in place of the container engine, which CI does not have. The
 * script records its arguments and runs the entrypoint without a container. These tests do not
 * prove that a real engine accepts the arguments.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chooseIsolation } from "../../../../agent/job/isolation/choose.ts";
import { type IsolationSettings } from "../../../../agent/job/isolation/isolation.ts";
import { openIsolation } from "../../../../agent/job/isolation/open.ts";
import { openRun } from "../../../../agent/job/terraform/process.ts";
import { isolationSettings, wipe } from "../../../helpers/agent/isolation.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";

const place = folderForFile();
const calls = join(place, "calls");
const secret = "CANARY_of-the-agent";

/** Writes a script that handles `run`, `ps` and `rm` as docker does, or fails. */
function writeEngine(name: string, works: boolean): void {
  const bin = join(place, "bin");
  mkdirSync(bin, { recursive: true });
  const script = `#!/bin/sh
for word in "$@"; do printf '%s\\0' "$word" >> ${calls}; done; printf '\\036' >> ${calls}
${works ? "" : `echo "Cannot connect to the engine. Is it running?" >&2; exit 1`}
case $1 in
  ps) echo c1 c2 ;;
  run)
    while [ "$1" != --entrypoint ]; do [ "$1" != --workdir ] || cd "$2"; shift; done
    entry=$2; shift 3
    exec "$entry" "$@" ;;
esac
`;
  writeFileSync(join(bin, name), script);
  chmodSync(join(bin, name), 0o755);
}

const settingsWith = (engine: "docker" | "podman", users?: readonly [number, number]) => {
  const settings: IsolationSettings = {
    ...isolationSettings(join(place, "work")),
    level: "container",
    users,
    readable: [place],
    container: {
      engine,
      image: "registry.example.test/jobs:1",
      environment: { HOME: "/nonexistent", DOCKER_HOST: "unix:///run/engine.sock", ODD: secret },
    },
  };
  return { ...settings, path: `${join(place, "bin")}:${settings.path}` };
};

const called = (): string[][] =>
  readFileSync(calls, "utf8")
    .split("\u001e")
    .filter(Boolean)
    .map((line) => line.split("\0").slice(0, -1));

test.each(["docker", "podman"] as const)(
  "%s runs the job without capabilities, on the host's network, with the agent's files hidden",
  async (engine) => {
    writeFileSync(calls, "");
    writeEngine(engine, true);
    const settings = settingsWith(engine);
    const id = randomUUID();
    const workspace = newWorkspace(settings.workDir, id);
    const job = { id, workspace, state: undefined, user: undefined };
    const isolation = openIsolation("container", job, settings);
    const directory = join(place, `run-${engine}`);
    const command = isolation.wrap({
      directory,
      command: "/bin/sh",
      args: ["-c", 'env; printf "<%s>" "$@"; exit 4', "sh", "a b", "$(x)"],
      cwd: workspace.source,
      env: { PATH: settings.path, HOME: workspace.home, DOCKER_HOST: "tcp://evil.test", T: "tok" },
    });
    // The job's environment reaches neither the arguments nor the settings of the engine's client.
    expect(command.args.join(" ")).not.toContain("tok");
    expect(command.env["DOCKER_HOST"]).toBe("unix:///run/engine.sock");
    const run = openRun(command, undefined, () => isolation.killAll());
    expect(await run.ended).toEqual({ kind: "exited", code: 4 });
    const output = readFileSync(join(directory, "stdout"), "utf8");
    expect(output).toContain("\nDOCKER_HOST=tcp://evil.test\n");
    expect(output).toContain("\nT=tok\n");
    expect(output).toContain("<a b><$(x)>");
    expect(output).not.toContain("WINDLASS_ENTRY");

    const [ran = [], listed, removed] = called();
    const mounts = ran.filter((_, index) => ran[index - 1] === "--mount");
    const bind = (path: string, how = "") => `type=bind,source=${path},target=${path}${how}`;
    expect(mounts).toEqual([
      bind(place, ",readonly"),
      bind(workspace.root, ",readonly"),
      ...["source", "home", "tmp", "artifact"].map((name) => bind(join(workspace.root, name))),
      `type=bind,source=${workspace.temporary},target=/tmp/job`,
    ]);
    const words = ran.join(" ");
    expect(words).toContain(
      `run --rm --name windlass-${id}-run-${engine} --label windlass.job=${id}`,
    );
    expect(words).toContain("--network host --user ");
    expect(words).toContain("--cap-drop ALL --security-opt no-new-privileges --read-only");
    expect(words.includes("--userns keep-id")).toBe(engine === "podman");
    expect(words).not.toMatch(/--privileged|docker\.sock|--pid|--ipc/);
    expect(words).toContain("--entrypoint /bin/sh registry.example.test/jobs:1 -c");
    // After each run, the containers that still run for this job are removed.
    expect(listed).toEqual(["ps", "--all", "--quiet", "--filter", `label=windlass.job=${id}`]);
    expect(removed).toEqual(["rm", "--force", "c1", "c2"]);
    await wipe(isolation);
  },
);

test("the level container is refused with the engine's own error when the engine fails", async () => {
  writeEngine("docker", false);
  await expect(chooseIsolation(settingsWith("docker"), "container")).rejects.toThrow(
    "WINDLASS_ISOLATION=container does not work here: Cannot connect to the engine. Is it running?",
  );
});
