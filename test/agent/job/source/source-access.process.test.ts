/** The credentials of a claim: where git sends them, and where they are left. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { JobContext } from "../../../../agent/job/context.ts";
import { openJournal } from "../../../../agent/job/journal.ts";
import { maskerOf } from "../../../../agent/job/secrets.ts";
import { forgetAccess, setAccessApart } from "../../../../agent/job/source/source-access.ts";
import { fetchSource } from "../../../../agent/job/source/source.ts";
import type { ClaimedJob } from "../../../../protocol/executions.ts";
import { startGitHost, type GitHost } from "../../../helpers/agent/git-host.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";
import { makeCertificate } from "../../../helpers/network/certificate.ts";

const place = folderForFile();
const certificate = makeCertificate(place, "localhost");
const token = "planted-token-4712";
const header = Buffer.from(`x-access-token:${token}`).toString("base64");
let host: GitHost;
let other: GitHost;
beforeAll(async () => {
  [host, other] = [await startGitHost(certificate), await startGitHost(certificate)];
  for (const each of [host, other])
    for (const name of ["team/app", "team/app-2"]) each.commit(name, { "main.tf": "# first" });
  host.password = `x-access-token:${token}`;
});
beforeEach(() => {
  for (const each of [host, other]) {
    each.requests.length = 0;
    each.redirect = undefined;
  }
});
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

/** Fetches a source with the credentials in its claim. */
async function fetch(url: string, snapshot: object = {}) {
  const workspace = newWorkspace(join(place, "work"));
  const directory = join(workspace.root, "job");
  const [bin, recorded] = [join(workspace.root, "bin"), join(workspace.root, "recorded")];
  for (const folder of [directory, bin]) mkdirSync(folder);
  // Records its arguments and runs git.
  const script = `#!/bin/sh\necho "$@" >> '${recorded}'\nPATH=\${PATH#*:} exec git "$@"\n`;
  writeFileSync(join(bin, "git"), script);
  chmodSync(join(bin, "git"), 0o755);
  const source = { type: "git", url };
  const source_access = { username: "x-access-token", token, expires_at: null };
  const job = {
    id: "1",
    job_type: "PLAN",
    config_snapshot: { source, ...snapshot },
    source_access,
  };
  const claim = setAccessApart({ job } as unknown as ClaimedJob, directory);
  const journal = openJournal(directory);
  journal.append({ at: "claimed", claim });
  const said: string[] = [];
  const context = {
    claim,
    workspace,
    directory,
    journal,
    facts: {},
    stop: new AbortController().signal,
    log: { addSecrets: (all: string[]) => said.push(...all), system: () => undefined },
    settings: {
      path: `${bin}:${process.env["PATH"]}`,
      network: { SSL_CERT_FILE: certificate.file },
      gitAccess: [],
      sourceBytes: 1024 ** 3,
      sealKey: "seal-key-of-a-test",
      workerToken: "worker-token",
    },
  } as unknown as JobContext;
  const failure = await fetchSource.run(context).then(
    () => undefined,
    (error: Error) => error.message,
  );
  journal.close();
  return { context, directory, root: workspace.root, recorded, failure, masked: said };
}

test("are sent to the source's repository, and then are in no file and in no argument", async () => {
  const { context, directory, root, recorded, failure, masked } = await fetch(
    `https://${host.host}/team/app`,
  );
  expect(failure).toBeUndefined();
  expect(host.requests.at(-1)?.authorization).toBe(`Basic ${header}`);
  expect(masked).toContain(token);
  expect(maskerOf(context)(`a ${token} b ${header} c`)).not.toMatch(
    new RegExp(`${token}|${header}`),
  );
  expect(readFileSync(recorded, "utf8")).toContain("fetch");
  // A restarted agent may have to fetch again, until the next step begins.
  expect(existsSync(join(directory, "source-access.json"))).toBe(true);
  forgetAccess(directory);
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((name) => join(root, name))
    .filter((file) => statSync(file).isFile());
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const text = readFileSync(file, "latin1");
    expect([file, text.includes(token) || text.includes(header)]).toEqual([file, false]);
  }
});

test("are sent to no other repository, neither after a redirect nor for a submodule", async () => {
  host.redirect = `https://${other.host}`;
  expect((await fetch(`https://${host.host}/team/app`)).failure).toMatch(/has moved/);
  expect(other.requests).toEqual([]);
  host.redirect = undefined;
  host.requests.length = 0;
  const url = `https://${host.host}/team/app-2`;
  const commit = host.git("team/app-2", "rev-parse", "HEAD");
  host.commit("team/nested", { ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = ${url}\n` });
  host.git("team/nested", "update-index", "--add", "--cacheinfo", `160000,${commit},x`);
  host.git("team/nested", "commit", "--quiet", "-m", "a submodule");
  const nested = await fetch(`https://${host.host}/team/nested`, { submodules: true });
  expect(nested.failure).toMatch(/git fetch failed/);
  const sent = host.requests.filter(({ authorization }) => authorization !== undefined);
  expect(sent.every(({ path }) => path.startsWith("/team/nested/"))).toBe(true);
  expect(sent.length).toBeGreaterThan(1);
});

test("reach the files in Git LFS, also of an address without .git", async () => {
  host.commit("team/files", {
    ".gitattributes": "*.bin filter=lfs -text\n",
    "main.tf": "",
    "a.bin": host.keep("content"),
  });
  const { failure, root } = await fetch(`https://${host.host}/team/files`);
  expect(failure).toBeUndefined();
  expect(readFileSync(join(root, "source/a.bin"), "utf8")).toBe("content");
});
