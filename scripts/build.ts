/**
 * `npm run build [-- --out DIR --package NAME --commit ID]`: writes JavaScript and the files that it
 * reads. Our code and most packages are bundled, because a process spends most of its start finding
 * and reading modules (bench/cold-start.ts). With `--package npm`: everything but the server, and
 * nearly all packages bundled.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { rolldown, type OutputChunk, type Plugin } from "rolldown";
import { describeCommit } from "../common/version.ts";
import { packageFiles, packageLicences } from "../control-plane/console/package-files.ts";
import { installed, installedForNpm } from "./lib/installed.ts";
import { writeReference } from "./lib/reference.ts";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(root, "dist") },
    package: { type: "string", default: "build" },
    commit: { type: "string" },
  },
});
const out = resolve(values.out);
const hasServer = values.package !== "npm";

/** What starts a process or a thread. */
const entries = [
  "main",
  "agent/job/credentials/listener-process",
  "agent/job/plan/reader-process",
  "cli/demo/cleaner",
  ...(hasServer ? ["control-plane/services/graphs/graph-thread"] : []),
];

/** Read at run time relative to `import.meta.dirname`, so they keep their paths. */
const assets = hasServer
  ? ["control-plane/**/*.{css,js,svg,html}", "samples/**/*", "systemd/*"]
  : ["systemd/windlass-agent.*"];

/**
 * Makes `import.meta.dirname` and the like name the place that the file had in the source, because
 * the code of all files is written to `out` itself.
 */
const places: Plugin = {
  name: "places",
  transform(code, id) {
    if (id.includes("node_modules") || !code.includes("import.meta.")) return null;
    const path = relative(root, id).replace(/\.ts$/, ".js");
    const of: Readonly<Record<string, string>> = {
      dirname: `(import.meta.dirname + ${JSON.stringify(`/${dirname(path)}`)})`,
      filename: `(import.meta.dirname + ${JSON.stringify(`/${path}`)})`,
      url: `new URL(${JSON.stringify(`./${path}`)}, import.meta.url).href`,
    };
    return code.replaceAll(/\bimport\.meta\.(dirname|filename|url)\b/g, (_, what) => of[what]!);
  },
};

/** undici speaks HTTP/1.1 only here (common/http-client.ts), and works without Node's HTTP/2. */
const withoutHttp2: Plugin = {
  name: "without-http2",
  resolveId: (id, importer) =>
    id === "node:http2" && importer?.includes("/undici/") ? "\0http2" : null,
  load: (id) => (id === "\0http2" ? "export const constants = {};" : null),
};

/** What `windlass server` says where there is none. */
const withoutServer: Plugin = {
  name: "without-server",
  resolveId: (id) => (!hasServer && id.endsWith("/control-plane/main.ts") ? "\0server" : null),
  load: (id) =>
    id === "\0server"
      ? `export function main() {
          process.stderr.write("windlass server: this package has only the client and the agent. Install the package for Linux, or run the image (docs/install.md).\\n");
          process.exitCode = 78;
        }`
      : null,
};

/** Returns `unknown` without git, as in the build of the image. */
function commitOfSource(): string {
  try {
    return execFileSync("git", describeCommit(root), { encoding: "utf8", stdio: "pipe" }).trim();
  } catch {
    return "unknown";
  }
}

if (existsSync(out) && !existsSync(join(out, "main.js")))
  throw new Error(`${out} is not an earlier build: remove it, or choose another directory`);
rmSync(out, { recursive: true, force: true });

const bundle = await rolldown({
  input: Object.fromEntries(entries.map((name) => [name, join(root, `${name}.ts`)])),
  platform: "node",
  external: (hasServer ? installed : installedForNpm).map((name) => new RegExp(`^${name}(/|$)`)),
  plugins: [places, withoutHttp2, withoutServer],
  // Leaves out an experimental parser of undici, as the build of Node itself does: 0.2 MB.
  transform: { define: { esbuildDetection: "true" } },
  // Not the project's own, whose checks belong to `npm run typecheck`.
  tsconfig: false,
});
const { output } = await bundle.write({
  dir: out,
  // Licences stay.
  comments: { legal: true, annotation: false, jsdoc: false },
});
await bundle.close();
const misplaced = output.filter(
  (file): file is OutputChunk =>
    file.type === "chunk" && file.fileName.includes("/") && file.code.includes("import.meta."),
);
if (misplaced.length > 0)
  throw new Error(`${misplaced[0]!.fileName} is not in ${out} itself, and names its own place`);

for (const file of globSync(assets, { cwd: root, exclude: ["**/node_modules", "**/.terraform"] })) {
  const target = join(out, file);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(root, file), target, { recursive: true });
}
if (hasServer)
  for (const name of [...packageFiles, ...packageLicences]) {
    const file = name.endsWith("/LICENSE")
      ? `LICENSE ${name.replace("/LICENSE", "").replaceAll("/", " ")}`
      : basename(name);
    cpSync(
      fileURLToPath(import.meta.resolve(name)),
      join(out, "control-plane/console/files", file),
    );
  }
await writeReference(join(out, "docs"));
const build = { package: values.package, commit: values.commit ?? commitOfSource() };
writeFileSync(join(out, "build.json"), `${JSON.stringify(build)}\n`);
