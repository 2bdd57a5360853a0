/** What `npm run package` writes: installed, verified, upgraded and downgraded while jobs run. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  rmSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { minute } from "../../common/units.ts";
import { version } from "../../common/version.ts";
import { startAgent, until } from "../helpers/agent/agent-process.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { startedBy } from "../helpers/machine/units.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { isolationForHeldApply, startHeldApply } from "../helpers/agent/held-apply.ts";
import { spawnServer } from "../helpers/plane/server-process.ts";
import { root } from "../helpers/project/source-files.ts";
import { lackOfProgram, skipAt } from "../helpers/project/tools.ts";
import { addUserAt } from "../helpers/people/user.ts";

skipAt(lackOfProgram("dpkg-deb"));

const place = folderForFile();
const packages = join(place, "packages");
const next = join(place, "next");
const nextVersion = "98.0.0";
const nameOf = (of: string): string => `windlass-${of}-linux-x64`;

/** Runs a program and returns what it printed. */
const run = (program: string, args: readonly string[], env: object = {}): string =>
  execFileSync(program, args, {
    encoding: "utf8",
    cwd: place,
    // npm would keep its compiled code in the directory for temporary files.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
const sums = (folder: string): void => {
  const files = readdirSync(folder).filter((name) => name !== "SHA256SUMS");
  writeFileSync(
    join(folder, "SHA256SUMS"),
    execFileSync("sha256sum", files, { cwd: folder, encoding: "utf8" }),
  );
};

beforeAll(() => {
  run(process.execPath, [join(root, "scripts/package.ts"), "--out", packages]);
  // The next release: the same code under another number.
  mkdirSync(next);
  run("tar", ["-xzf", join(packages, `${nameOf(version())}.tar.gz`), "-C", next]);
  const folder = join(next, nameOf(nextVersion));
  renameSync(join(next, nameOf(version())), folder);
  const manifest = join(folder, "package.json");
  const text = readFileSync(manifest, "utf8").replace(`"${version()}"`, `"${nextVersion}"`);
  writeFileSync(manifest, text);
  run("tar", ["-cf", `${folder}.tar.gz`, "-I", "gzip -1", "-C", next, nameOf(nextVersion)]);
  run("rm", ["-r", folder]);
  copyFileSync(join(packages, "install.sh"), join(next, "install.sh"));
  sums(next);
  const prefix = join(place, "npm");
  mkdirSync(join(prefix, "lib"), { recursive: true });
  const file = join(packages, `windlass-${version()}.tgz`);
  run("npm", ["install", "--global", "--offline", "--prefix", prefix, file]);
}, 15 * minute);

const install = (folder: string, of: string, prefix: string): string =>
  run("sh", [join(folder, "install.sh"), join(folder, `${nameOf(of)}.tar.gz`)], { PREFIX: prefix });

test("every file has a checksum, and the SBOM names what is bundled, what is not, and Node", () => {
  run("sh", ["-c", 'cd "$1" && sha256sum --check --strict SHA256SUMS', "sh", packages]);
  const listed = readFileSync(join(packages, "SHA256SUMS"), "utf8").trim().split("\n");
  expect(listed).toHaveLength(readdirSync(packages).length - 1);
  const sbom = JSON.parse(
    readFileSync(join(packages, `windlass-${version()}.cdx.json`), "utf8"),
  ) as { bomFormat: string; components: { name: string; version: string }[] };
  const found = sbom.components.map(({ name }) => name);
  expect(sbom.bomFormat).toBe("CycloneDX");
  expect(found).toEqual(expect.arrayContaining(["fastify", "better-sqlite3", "undici", "node"]));
  expect(found).not.toContain("vitest");
});

describe("install.sh", () => {
  test("installs the package beside others, with commands that say what they are", () => {
    const prefix = join(place, "installed");
    expect(install(packages, version(), prefix)).toContain(`version    ${version()}\n`);
    const linked = join(prefix, "usr/local/bin/windlass");
    expect(JSON.parse(run(linked, ["version", "--json"]))).toMatchObject({
      version: version(),
      package: "tarball",
      commit: expect.stringMatching(/^[0-9a-f]{12}(-dirty)?$/),
      parts: "server, agent, client",
      directory: join(prefix, "opt", nameOf(version())),
    });
    // The unit names the link, so that it stays right when another version is installed.
    const machine = join(place, "machine");
    const url = ["--url", "https://windlass.example.com"];
    run(linked, ["agent", "install", ...url, "--root", machine]);
    const unit = join(machine, "etc/systemd/system/windlass-agent.service");
    expect(startedBy(unit)).toBe(`${prefix}/opt/windlass/bin/windlass agent`);

    expect(install(next, nextVersion, prefix)).toContain(`version    ${nextVersion}\n`);
    expect(run(linked, ["--version"])).toBe(`${nextVersion}\n`);
    expect(install(packages, version(), prefix)).toContain(`version    ${version()}\n`);
    expect(readdirSync(join(prefix, "opt")).toSorted()).toEqual(
      ["windlass", nameOf(version()), nameOf(nextVersion)].toSorted(),
    );
  });

  test("installs nothing from a package that was changed, of another machine, or over another build", () => {
    const changed = join(place, "changed");
    const prefix = join(place, "untouched");
    mkdirSync(changed);
    for (const name of readdirSync(next)) copyFileSync(join(next, name), join(changed, name));
    const file = join(changed, `${nameOf(nextVersion)}.tar.gz`);
    appendFileSync(file, "x");
    const refused = (path: string) =>
      spawnSync("sh", [join(changed, "install.sh"), path], {
        encoding: "utf8",
        env: { ...process.env, PREFIX: prefix },
      });
    expect(refused(file).stderr).toContain("is not what SHA256SUMS names: nothing was installed");
    const other = file.replace("x64", "s390x");
    copyFileSync(file, other);
    expect(refused(other).stderr).toContain("is not for this machine (linux-x64)");
    expect(existsSync(prefix)).toBe(false);
    rmSync(join(changed, "SHA256SUMS"));
    expect(refused(file).stderr).toContain("SHA256SUMS is not beside");
    expect(existsSync(prefix)).toBe(false);
    install(next, nextVersion, prefix);
    sums(changed);
    expect(refused(file).stderr).toContain("is another build of this version");
  });
});

test("the package has what the code finds by its name at run time", () => {
  const sources = globSync("{agent,cli,common,control-plane}/**/*.ts", { cwd: root })
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n");
  const names = [
    ...sources.matchAll(/\b(?:import\.meta\.resolve|load)\(["`]((?:@[\w-]+\/)?[\w-]+)/g),
  ];
  const folder = join(place, "installed/opt/windlass/node_modules");
  const found = names.map(([, name = ""]) => name);
  expect(found).toEqual(expect.arrayContaining(["ansi-sequence-parser", "string-width"]));
  expect(found.filter((name) => !existsSync(join(folder, name)))).toEqual([]);
});

test("the Debian package has the same files, and ends what runs before it replaces them", () => {
  const folder = join(place, "debian");
  const file = globSync(join(packages, "*_amd64.deb"))[0]!;
  expect(run("dpkg-deb", ["--field", file, "Package", "Version"])).toBe(
    `Package: windlass\nVersion: ${version()}\n`,
  );
  expect(run("dpkg-deb", ["--contents", file])).not.toMatch(/^\S+ (?!root\/root)/m);
  run("dpkg-deb", ["--raw-extract", file, folder]);
  expect(JSON.parse(run(join(folder, "usr/bin/windlass"), ["version", "--json"]))).toMatchObject({
    version: version(),
    package: "deb",
    directory: join(folder, "usr/lib/windlass"),
  });
  // The scripts with another systemctl, and a directory that says that systemd runs.
  const calls = join(place, "calls");
  writeFileSync(join(folder, "systemctl"), `#!/bin/sh\necho "$*" >> ${calls}\n`, { mode: 0o755 });
  const script = (name: string, argument: string): string[] => {
    writeFileSync(calls, "");
    const path = join(folder, "DEBIAN", name);
    const text = readFileSync(path, "utf8").replaceAll("/run/systemd/system", folder);
    run("sh", ["-c", text, name, argument], { PATH: `${folder}:${process.env["PATH"]}` });
    return readFileSync(calls, "utf8").trim().split("\n");
  };
  const stop = "stop windlass-agent.service windlass-server.service";
  expect(script("prerm", "remove")).toEqual([stop]);
  expect(script("prerm", "upgrade")).toEqual([
    "stop --no-block windlass-agent.service",
    "kill --signal=KILL --kill-who=main windlass-agent.service",
    stop,
  ]);
  expect(script("postinst", "configure").filter((call) => call.startsWith("start"))).toEqual([
    "start --no-block windlass-server.service",
    "start --no-block windlass-agent.service",
  ]);
});

test("the npm package has the client and the agent, brings all that it needs, and has no server", () => {
  const prefix = join(place, "npm");
  const command = join(prefix, "bin/windlass");
  const folder = realpathSync(join(prefix, "lib/node_modules/windlass"));
  expect(JSON.parse(run(command, ["version", "--json"]))).toMatchObject({
    version: version(),
    package: "npm",
    parts: "agent, client",
    directory: folder,
  });
  expect(globSync("**/*.node", { cwd: folder })).toEqual([]);
  expect(readdirSync(join(folder, "node_modules"))).toContain("string-width");
  expect(run(command, ["agent", "--help"])).toContain("Usage: windlass agent");
  const server = spawnSync(command, ["server"], { encoding: "utf8" });
  expect(server).toMatchObject({ status: 78, stdout: "" });
  expect(server.stderr).toContain("this package has only the client and the agent");
});

test("server and agent are upgraded and downgraded in place while jobs run", async () => {
  const prefix = join(place, "in-use");
  const program = join(prefix, "opt/windlass/bin/windlass");
  const data = join(place, "data");
  const port = String(await freePort());
  const jwtSecret = "the-secret-of-the-sign-ins-of-this-server";
  const ofServer = { WINDLASS_PORT: port, CLI_JWT_SECRET: jwtSecret };
  const startServer = () => spawnServer(data, ofServer, { program });
  install(packages, version(), prefix);
  let server = startServer();
  const url = await server.ready;
  const user = await addUserAt(url, data, jwtSecret);
  const settings = {
    ...isolationForHeldApply,
    WINDLASS_URL: url,
    WINDLASS_WORK_DIR: join(place, "work"),
    WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
  };
  const startThisAgent = (from = program) => startAgent(settings, undefined, from);
  let agent = startThisAgent();
  const replaceServer = async () => {
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    server = startServer();
    await server.ready;
  };
  const versionsIn = (log: string): string[] =>
    [...log.matchAll(/"version":"([^"]+)"/g)].map(([, found = ""]) => found);
  try {
    // As the Debian package does it: the agent ends at once, and the new one continues with the job.
    const first = await startHeldApply({ user, path: place });
    install(next, nextVersion, prefix);
    await replaceServer();
    agent.kill("SIGKILL");
    await agent.exited;
    agent = startThisAgent();
    first.finish();
    expect(await user.reaches(first.job, "SUCCESS", "FAILED")).toMatchObject({
      status: "SUCCESS",
      attempt: 1,
    });
    await user.released(first.job);
    expect(versionsIn(server.log())).toEqual([nextVersion]);
    const workers = await user.client.call("listWorkers", {});
    expect(workers.workers).toEqual([expect.objectContaining({ version: nextVersion })]);

    // As systemctl restart does it: the old agent finishes its job with its own files.
    const second = await startHeldApply({ user, path: place });
    install(packages, version(), prefix);
    await replaceServer();
    agent.kill("SIGTERM");
    await until(() => agent.log().includes("waiting for the running ones"));
    second.finish();
    expect(await agent.exited).toBe(0);
    expect(await user.read(second.job)).toMatchObject({ status: "SUCCESS", attempt: 1 });
    expect(versionsIn(server.log())).toEqual([version()]);

    // The agent of the npm package, with that identity.
    agent = startThisAgent(join(place, "npm/bin/windlass"));
    const third = await startHeldApply({ user, path: place });
    third.finish();
    expect(await user.reaches(third.job, "SUCCESS", "FAILED")).toMatchObject({ status: "SUCCESS" });
  } finally {
    agent.kill("SIGKILL");
    server.kill("SIGKILL");
    await Promise.all([agent.exited, server.exited]);
  }
});
