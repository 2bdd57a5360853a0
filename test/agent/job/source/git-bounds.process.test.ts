/** Git with the user and the limits of the job, over real TLS. */
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freeUser, openIsolation } from "../../../../agent/job/isolation/open.ts";
import { chooseIsolation, lackOf } from "../../../../agent/job/isolation/choose.ts";
import type { Level } from "../../../../agent/job/isolation/isolation.ts";
import { fetchGit } from "../../../../agent/job/source/git.ts";
import { mebibyte } from "../../../../common/units.ts";
import { startGitHost, type GitHost } from "../../../helpers/agent/git-host.ts";
import { isolationSettings } from "../../../helpers/agent/isolation.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";
import { makeCertificate } from "../../../helpers/network/certificate.ts";

const place = folderForFile();
const certificate = makeCertificate(place, "localhost");
const workDir = join(place, "work");
const isRoot = process.getuid?.() === 0;
let host: GitHost;

beforeAll(async () => {
  host = await startGitHost(certificate);
  await chooseIsolation(isolationSettings(workDir), isRoot ? "uid" : "process");
});
afterAll(() => host[Symbol.asyncDispose]());

/** Fetches at the level `uid`, or `process` without root. */
async function fetch(
  name: string,
  memoryBytes: number,
  level: Level = isRoot ? "uid" : "process",
  path?: string,
) {
  const workspace = newWorkspace(workDir);
  const settings = { ...isolationSettings(workDir), ...(path && { path, readable: [path] }) };
  const user = freeUser(settings) ?? undefined;
  const limits = { memoryBytes, processes: 100, fileBytes: 0 };
  const readable = [...settings.readable, certificate.file];
  const isolation = openIsolation(
    level,
    { id: "job", workspace, state: undefined, user },
    { ...settings, level, limits, readable },
  );
  await fetchGit(
    { url: `https://${host.host}/${name}`, submodules: true },
    workspace,
    {
      path: settings.path,
      network: { SSL_CERT_FILE: certificate.file },
      gitAccess: [],
      sourceBytes: 1024 * mebibyte,
      isolation,
    },
    new AbortController().signal,
  );
  return { source: workspace.source, user };
}

test("git runs as the user of the job, also for a submodule", async ({ skip }) => {
  skip(!isRoot, "needs root");
  const commit = host.commit("module", { "m.tf": "#" });
  const modules = `[submodule "m"]\n\tpath = m\n\turl = ../module\n`;
  host.commit("app", { "main.tf": "#", ".gitmodules": modules });
  host.git("app", "update-index", "--add", "--cacheinfo", `160000,${commit},m`);
  host.git("app", "commit", "--quiet", "-m", "module");
  const { source, user } = await fetch("app", 1024 * mebibyte);
  for (const file of ["main.tf", "m/m.tf", "m/.git/HEAD"])
    expect(statSync(join(source, file)).uid).toBe(user);
});

test("git has the memory limit of the job", async () => {
  host.commit("large", { "main.tf": "#" });
  await expect(fetch("large", mebibyte)).rejects.toThrow(/^source: git \w+ failed/);
});

describe("without root, at level bubblewrap", () => {
  let lack: string | undefined;
  beforeAll(async () => {
    lack = isRoot
      ? "needs an agent that is not root"
      : await lackOf("bubblewrap", isolationSettings(workDir));
  });
  /** A directory with a git that runs this first. */
  const withGit = (script: string): string => {
    const bin = mkdtempSync(join(place, "bin-"));
    const real = (process.env["PATH"] ?? "").split(delimiter).map((each) => join(each, "git"));
    const text = `#!/bin/sh\n${script}\nexec ${real.find((each) => existsSync(each))} "$@"\n`;
    writeFileSync(join(bin, "git"), text, { mode: 0o755 });
    return bin;
  };

  test("git sees nothing of the agent and of its processes, and writes only into its directories", async ({
    skip,
  }) => {
    skip(lack !== undefined, lack);
    host.commit("inside", { "main.tf": "#" });
    writeFileSync(join(workDir, "token"), "secret");
    const seen = join(place, "seen");
    const tries = [
      `cat ${join(workDir, "token")}`,
      `cat /proc/${process.pid}/environ`,
      `touch ${seen}`,
      `kill -0 ${process.pid}`,
    ];
    // It would end with the fetch.
    const script = tries.map((each) => `${each} >/dev/null 2>&1 && exit 9`).join("\n");
    const path = `${withGit(script)}${delimiter}${process.env["PATH"]}`;
    const { source } = await fetch("inside", 1024 * mebibyte, "bubblewrap", path);
    expect(readFileSync(join(source, "main.tf"), "utf8")).toBe("#");
    expect(existsSync(seen)).toBe(false);
    // Outside, the same git fails at once.
    await expect(fetch("inside", 1024 * mebibyte, "process", path)).rejects.toThrow(
      /^source: git init failed/,
    );
  });

  test("git has the memory limit of the job", async ({ skip }) => {
    skip(lack !== undefined, lack);
    host.commit("small", { "main.tf": "#" });
    await expect(fetch("small", mebibyte, "bubblewrap")).rejects.toThrow(/^source: git \w+ failed/);
  });
});
