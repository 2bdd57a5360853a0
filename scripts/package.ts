/**
 * `npm run package [-- --out DIR --arch x64,arm64]`: writes what other machines install, from this
 * checkout in which `npm ci` has run. For Linux a tarball with Node inside and a Debian package of the
 * same files, for npm the client and the agent, an SBOM (CycloneDX), install.sh, and SHA256SUMS.
 * With `--image DIR`, only the files of the image, without Node (Dockerfile).
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { installed, installedForNpm } from "./lib/installed.ts";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(root, "packages") },
    arch: { type: "string", default: "x64" },
    image: { type: "string" },
    commit: { type: "string" },
  },
});
const out = resolve(values.out);
const place = mkdtempSync(join(tmpdir(), "windlass-package-"));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { version, description, license, type, bin, engines, dependencies, devDependencies } =
  manifest;
const nodeVersion: string = devDependencies.node;
const run = async (command: string, args: readonly string[], cwd = root): Promise<string> =>
  (await execa(command, args, { cwd, preferLocal: true, stdin: "ignore" })).stdout;

/** Writes what every package has: the command, the build, and a package.json with these fields. */
async function stage(kind: string, name: string, fields: object): Promise<string> {
  const folder = join(place, kind, name);
  mkdirSync(folder, { recursive: true });
  for (const each of ["bin", "LICENSE", "CHANGELOG.md"])
    cpSync(join(root, each), join(folder, each), { recursive: true });
  const commit = values.commit === undefined ? [] : ["--commit", values.commit];
  const build = ["scripts/build.ts", "--package", kind, "--out", join(folder, "dist")];
  await run(process.execPath, [...build, ...commit]);
  const own = { name: "windlass", version, description, license, type, bin, ...fields };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(own, null, 2)}\n`);
  return folder;
}

/** These packages, and all that they need. */
async function copyPackages(
  folder: string,
  arch: string = process.arch,
  names: readonly string[] = installed,
): Promise<void> {
  const selectors = names.flatMap((name) => [`[name="${name}"]`, `[name="${name}"] *`]);
  const found = JSON.parse(await run("npm", ["query", "--omit=dev", selectors.join(", ")]));
  // What better-sqlite3 has for other systems, and for those who compile it: 25 MB.
  const unused = /\/better-sqlite3\/(deps|src)$|\/prebuilds\/[^/]+$|\.d\.[cm]?ts$|\.map$/;
  const used = `/prebuilds/linux-${arch}.node`;
  for (const { location } of found as { location: string }[])
    cpSync(join(root, location), join(folder, location), {
      recursive: true,
      filter: (path) => path.endsWith(used) || !unused.test(path),
    });
}

/** Node as its package for this system has it: unchanged, so that its own checksum can be compared. */
async function copyNode(folder: string, arch: string): Promise<void> {
  const name = `node-linux-${arch}`;
  let from = join(root, "node_modules/node/node_modules", name);
  if (arch !== process.arch) {
    const packed = await run("npm", ["pack", "--silent", `${name}@${nodeVersion}`], place);
    await run("tar", ["-xzf", packed], place);
    renameSync(join(place, "package"), join(place, name));
    from = join(place, name);
  }
  const to = join(folder, "node_modules/node");
  for (const file of ["bin/node", "LICENSE"]) cpSync(join(from, file), join(to, file));
}

async function packLinux(arch: string): Promise<void> {
  const name = `windlass-${version}-linux-${arch}`;
  const folder = await stage("tarball", name, {});
  await copyPackages(folder, arch);
  await copyNode(folder, arch);
  await run("chmod", ["-R", "u+rwX,go+rX,go-w", folder]);
  const owner = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
  await run("tar", ["-czf", join(out, `${name}.tar.gz`), ...owner, name], join(folder, ".."));
  await packDebian(folder, arch);
}

/** Packs the files below /usr/lib/windlass. */
async function packDebian(files: string, arch: string): Promise<void> {
  const folder = join(place, `deb-${arch}`);
  for (const path of ["DEBIAN", "usr/bin", "usr/lib"])
    mkdirSync(join(folder, path), { recursive: true });
  renameSync(files, join(folder, "usr/lib/windlass"));
  const build = join(folder, "usr/lib/windlass/dist/build.json");
  writeFileSync(build, readFileSync(build, "utf8").replace('"tarball"', '"deb"'));
  symlinkSync("../lib/windlass/bin/windlass", join(folder, "usr/bin/windlass"));
  const architecture = arch === "x64" ? "amd64" : arch;
  // A hyphen would begin Debian's own revision, and a tilde sorts before the end.
  const debianVersion = version.replace("-", "~");
  const control = {
    Package: "windlass",
    Version: debianVersion,
    Architecture: architecture,
    Maintainer: "Windlass maintainers <windlass@localhost>",
    Section: "admin",
    Priority: "optional",
    Depends: "libc6 (>= 2.28), libstdc++6, util-linux",
    Recommends: "bubblewrap, ca-certificates, git, openssh-client",
    Description: description,
  };
  const lines = Object.entries(control).map(([field, value]) => `${field}: ${value}\n`);
  writeFileSync(join(folder, "DEBIAN/control"), lines.join(""));
  for (const script of ["prerm", "postinst"]) {
    cpSync(join(root, "deploy/deb", script), join(folder, "DEBIAN", script));
    chmodSync(join(folder, "DEBIAN", script), 0o755);
  }
  const file = join(out, `windlass_${debianVersion}_${architecture}.deb`);
  await run("dpkg-deb", ["--root-owner-group", "-Zxz", "-z2", "--build", folder, file]);
}

async function packNpm(): Promise<void> {
  const needed = installedForNpm.map((name) => [name, dependencies[name]]);
  const folder = await stage("npm", "windlass", {
    engines,
    os: ["linux"],
    dependencies: Object.fromEntries(needed),
    bundleDependencies: installedForNpm,
  });
  await copyPackages(folder, process.arch, installedForNpm);
  await run("npm", ["pack", "--silent", "--pack-destination", out], folder);
}

/** Every package of the lock file that a user gets, bundled or not, and Node. */
async function writeSbom(): Promise<void> {
  const args = ["sbom", "--sbom-format=cyclonedx", "--omit=dev", "--package-lock-only"];
  const sbom = JSON.parse(await run("npm", args));
  const purl = `pkg:generic/node@${nodeVersion}`;
  const node = { type: "application", name: "node", version: nodeVersion, purl, "bom-ref": purl };
  sbom.components.push({ ...node, licenses: [{ license: { id: "MIT" } }] });
  writeFileSync(join(out, `windlass-${version}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
}

async function writeAll(): Promise<void> {
  if (existsSync(out) && !existsSync(join(out, "SHA256SUMS")))
    throw new Error(`${out} holds no earlier packages: remove it, or choose another directory`);
  process.stdout.write(`Writing packages to ${out}, which takes about a minute …\n`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const arch of values.arch.split(",")) await packLinux(arch);
  await packNpm();
  await writeSbom();
  cpSync(join(root, "deploy/install.sh"), join(out, "install.sh"));
  const sums = readdirSync(out).map((file) => {
    const digest = createHash("sha256")
      .update(readFileSync(join(out, file)))
      .digest("hex");
    return `${digest}  ${file}\n`;
  });
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  process.stdout.write(`${await run("ls", ["-l", "--block-size=1", out])}\n`);
}

try {
  if (values.image === undefined) await writeAll();
  else {
    const folder = await stage("image", "windlass", {});
    await copyPackages(folder);
    cpSync(folder, values.image, { recursive: true });
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
