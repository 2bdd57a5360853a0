/** A real agent is killed while it fetches a source with the credentials of its claim. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startAgent, until } from "../helpers/agent/agent-process.ts";
import { startGitHost } from "../helpers/agent/git-host.ts";
import { ended, startInterfaceOnlyServer } from "../helpers/agent/interface-only-server.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";

const place = folderForFile();

test("an agent killed during a fetch fetches again with the credentials of the claim, which are then in no file", async () => {
  const token = "planted-token-4711";
  const certificate = makeCertificate(place, "localhost");
  await using host = await startGitHost(certificate);
  host.password = `x-access-token:${token}`;
  const commit = host.commit("app", { "main.tf": "" });
  // The first fetch waits; the user of the job may write here.
  const [bin, held] = [join(place, "bin"), join(place, "held")];
  mkdirSync(bin);
  mkdirSync(held);
  const script = `#!/bin/sh
case " $* " in *" fetch "*) if mkdir "$HELD/once"; then echo $$ > "$HELD/once/pid"; exec sleep 60; fi ;; esac
PATH=\${PATH#*:} exec git "$@"
`.replaceAll("$HELD", held);
  writeFileSync(join(bin, "git"), script, { mode: 0o755 });
  await using server = await startInterfaceOnlyServer();
  const settings = {
    ...server.settings,
    PATH: `${bin}:${process.env["PATH"]}`,
    SSL_CERT_FILE: certificate.file,
    WINDLASS_WORK_DIR: join(place, "work"),
    // The job ends after its source.
    WINDLASS_ENGINE_OFFLINE: "1",
    WINDLASS_ISOLATION: "process",
  };
  const job = server.enqueue({
    job_type: "PLAN",
    config_snapshot: {
      source: { type: "git", url: `https://${host.host}/app` },
      engine_version: "9.9.9",
    },
    more: { source_access: { username: "x-access-token", token, expires_at: null } },
  });
  const pidFile = join(held, "once", "pid");
  {
    await using agent = startAgent(settings);
    await until(() => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n"));
    expect(host.requests).toEqual([]);
    agent.kill("SIGKILL");
    await agent.exited;
  }
  const jobs = join(place, "work", "jobs");
  const journal = join(jobs, job.id, "journal.ndjson");
  expect(readFileSync(journal, "utf8")).not.toContain(token);
  try {
    await using next = startAgent(settings);
    await ended(job);
    expect(next.log()).toContain("job found, continuing it");
    expect(job.reports.at(-1)).toMatchObject({
      status: "FAILED",
      error_message: expect.stringMatching(/^engine: /),
      execution_metadata: { source_commit: commit },
    });
    expect(job.claims).toBe(1);
    await until(() => readdirSync(jobs).length === 0);
    expect(server.log(job, "STDOUT") + server.log(job, "STDERR")).not.toContain(token);
  } finally {
    process.kill(Number(readFileSync(pidFile, "utf8")), "SIGKILL");
  }
});
