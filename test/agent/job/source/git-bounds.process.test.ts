/** Git with the user and the limits of the job, over real TLS. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freeUser, openIsolation } from "../../../../agent/job/isolation/open.ts";
import { chooseIsolation } from "../../../../agent/job/isolation/choose.ts";
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
async function fetch(name: string, memoryBytes: number) {
  const workspace = newWorkspace(workDir);
  const settings = isolationSettings(workDir);
  const user = freeUser(settings) ?? undefined;
  const limits = { memoryBytes, processes: 100, fileBytes: 0 };
  const isolation = openIsolation(
    isRoot ? "uid" : "process",
    { id: "job", workspace, state: undefined, user },
    { ...settings, level: "process", limits },
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
