/** The choice of the backend, with the files as real terraform reads them. */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { pino } from "pino";
import { Agent } from "undici";
import { describe, expect, test } from "vitest";
import {
  checkBackend,
  chooseBackend,
  injectBackend,
  plainBackend,
  removeInjected,
} from "../../../../agent/job/terraform/backend.ts";
import { jobApi } from "../../../../agent/api/job-calls.ts";
import type { JobContext } from "../../../../agent/job/context.ts";
import { byProcess } from "../../../../agent/job/isolation/by-process.ts";
import { levels, type Level } from "../../../../agent/job/isolation/isolation.ts";
import { openIsolation } from "../../../../agent/job/isolation/open.ts";
import { openJournal } from "../../../../agent/job/journal.ts";
import { mentions } from "../../../../agent/job/mentions.ts";
import type { Source } from "../../../../protocol/configurations.ts";
import { isolationSettings } from "../../../helpers/agent/isolation.ts";
import { listen } from "../../../helpers/network/listen.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { realTerraform } from "../../../helpers/agent/terraform.ts";

const root = folderForFile();
const terraform = realTerraform();

let count = 0;

/** A job with these files before its init step. */
function job(files: Readonly<Record<string, string>>, backend?: "managed" | "own") {
  const directory = join(root, String(++count));
  const workspace = newWorkspace(directory);
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(workspace.source, name), text);
  const journal = openJournal(directory);
  const lines: string[] = [];
  const source: Source = { type: "inline", files: {} };
  const context = {
    claim: {
      job: {
        id: `job-${count}`,
        job_type: "PLAN",
        attempt: 1,
        spec_id: "spec",
        zone_id: null,
        job_token: "token",
        config_snapshot: { source, ...(backend ? { backend } : {}) },
      },
    },
    settings: {
      path: process.env["PATH"],
      network: {},
      patience: { init: { first: 1000, second: 1000 } },
    },
    log: { system: (line: string) => lines.push(line) },
    api: { hasState: () => Promise.resolve(false) },
    journal,
    workspace,
    isolation: {
      ...byProcess({ id: `job-${count}`, workspace, state: undefined, user: undefined }),
      isOutOfMemory: () => false,
    },
    directory,
    facts: {
      engine: { engine: "terraform", version: "1", path: terraform },
      folder: workspace.source,
    },
    stop: new AbortController().signal,
    steps: [],
    position: 1,
  } as unknown as JobContext;
  return { context, folder: workspace.source, lines, close: () => journal.close() };
}

async function chosen(files: Readonly<Record<string, string>>, backend?: "managed" | "own") {
  const { context, folder, lines, close } = job(files, backend);
  const kind = await chooseBackend(context, folder);
  close();
  return { kind, lines, ran: readdirSync(join(context.directory)).includes("runs") };
}

const s3 = 'terraform {\n  backend "s3" {}\n}\n';

describe("without a choice, a declared backend is used:", () => {
  test.concurrent.each<[string, string, string?]>([
    ["quoted", s3],
    ["without quotes", "terraform {\n  backend s3 {\n  }\n}\n"],
    ["a cloud block", 'terraform {\n  cloud {\n    organization = "x"\n  }\n}\n'],
    [
      "after a comment that ends in a heredoc's opener",
      `locals {\n  a = 1 # <<EOT\n}\n${s3}# EOT\n`,
    ],
    ["after a heredoc with CRLF", `locals {\r\n  a = <<EOT\r\n{\r\nEOT\r\n}\r\n${s3}`],
    ["after braces in a template", `locals {\n  a = "\${{ x = {} }}}"\n}\n${s3}`],
    ["between comments", 'terraform {\n  /* { */backend/* } */"s3"/**/{}\n}\n'],
    ["in JSON, escaped", '{"terraform":{"\\u0062ackend":{"s3":{}}}}', "main.tf.json"],
    [
      "in JSON, before another block",
      '{"terraform":{"backend":{"s3":{}}},"terraform":{}}',
      "a.tf.json",
    ],
    ["in an override file", s3, "x_override.tf"],
    ["in a file that is not valid", `${s3}}`],
  ])("%s", async (_what, text, name = "main.tf") => {
    const { kind, lines } = await chosen({ [name]: text });
    expect(kind).toBe("own");
    expect(lines).toEqual([expect.stringContaining("--backend managed")]);
  });
});

describe("without a choice and a declared backend, the state is managed:", () => {
  test.concurrent.each<[string, Record<string, string>, boolean]>([
    ["no file mentions a backend", { "main.tf": "locals {\n  backends = 1\n}\n" }, false],
    ["a block in a resource", { "main.tf": 'resource "x" "y" {\n  backend "s3" {}\n}\n' }, true],
    [
      "a heredoc and a comment",
      {
        "main.tf": `locals {\n  a = <<-EOT\n    ${s3}\n  EOT\n}\n# terraform { backend "s3" {} }\n`,
      },
      true,
    ],
    ["files that terraform does not read", { ".x.tf": s3, "main.tofu": s3, "a.tf~": s3 }, true],
  ])("%s", async (_what, files, runsTerraform) => {
    expect(await chosen(files)).toEqual({ kind: "managed", lines: [], ran: runsTerraform });
  });
});

/** The backend that `init` may initialise while providers are fetched. */
function plain(files: Readonly<Record<string, string>>, change: object = {}) {
  const { context, folder, close } = job(files);
  const { job_type, config_snapshot, ...rest } = context.claim.job;
  const claim = { job: { job_type, config_snapshot, ...rest, ...change } };
  close();
  return plainBackend({ ...context, claim }, folder);
}

test("a backend is plain if no file can declare another one", () => {
  const main = { "main.tf": "locals {\n  backends = 1\n}\n" };
  expect(plain(main)).toBe("managed");
  expect(plain(main, { attempt: undefined })).toBe("local");
  const own = { config_snapshot: { backend: "own" } };
  const settings = { config_snapshot: { backend_config: { bucket: "b" } } };
  for (const change of [own, settings, { deployed_backend: "own" }])
    expect(plain(main, change)).toBeUndefined();
  for (const text of [s3, `# ${s3}`, "terraform {\n  cloud {}\n}\n"])
    expect(plain({ ...main, "x_override.tf": text })).toBeUndefined();
  expect(plain({ "main.tf.json": '{"terraform":{"\\u0062ackend":{}}}' })).toBeUndefined();
});

test("a chosen backend is used, and the log names a declared one that is not", async () => {
  const managed = await chosen({ "main.tf": s3 }, "managed");
  expect(managed.kind).toBe("managed");
  expect(managed.lines).toEqual([expect.stringContaining("which is not used")]);
  expect(await chosen({ "main.tf": "" }, "managed")).toMatchObject({ kind: "managed", lines: [] });
  expect(await chosen({ "main.tf": s3 }, "own")).toEqual({ kind: "own", lines: [], ran: false });
});

test("a declared backend is refused when the control plane has a state, unless it was chosen", async () => {
  await using server = await startOneState();
  const calls = { server: server.url, headers: {}, dispatcher: new Agent(), timeout: 1000 };
  const persistence = {
    known: { reportsTime: false },
    revocation: { accepted: () => undefined },
    log: pino({ enabled: false }),
    retry: {},
  };
  const { hasState } = jobApi({ ...calls, ...persistence } as never, "job-1");
  const choose = async (state: string | undefined, backend?: "own"): Promise<string> => {
    server.state = state;
    const { context, folder, close } = job({ "main.tf": s3 }, backend);
    Object.assign(context, { api: { hasState } });
    try {
      return await chooseBackend(context, folder);
    } catch (error) {
      return (error as Error).message;
    } finally {
      close();
    }
  };
  const refusal = expect.stringContaining(
    "the control plane already keeps a state of this configuration",
  );
  expect(await choose('{"resources":[{}]}')).toEqual(refusal);
  expect(server.authorization).toBe(`Basic ${Buffer.from("job-1:token").toString("base64")}`);
  expect(await choose(`{"resources":[],"x":"${"x".repeat(100_000)}"}`)).toEqual(refusal);
  expect(await choose('{"resources":[]}')).toBe("own");
  expect(await choose(undefined)).toBe("own");
  expect(await choose('{"resources":[{}]}', "own")).toBe("own");
  await calls.dispatcher.destroy();
});

/** Serves one state, as a control plane does. */
async function startOneState() {
  const server = createServer((request, response) => {
    one.authorization = request.headers.authorization;
    response.writeHead(one.state === undefined ? 404 : 200).end(one.state);
  });
  const one = {
    ...(await listen(server)),
    state: undefined as string | undefined,
    authorization: undefined as string | undefined,
  };
  return one;
}

test("mentions returns true for a file or directory that cannot be read", () => {
  const { folder, close } = job({});
  mkdirSync(join(folder, "dir.tf"));
  expect(mentions(folder, folder, ["backend"])).toBe(true);
  expect(mentions(folder, join(folder, "missing"), ["backend"])).toBe(true);
  close();
});

test("mentions returns true when the files are over the limit for synchronous reads", () => {
  const half = `# ${"x".repeat(4 * 1024 * 1024)}`;
  const { folder, close } = job({ "a.tf": half, "b.tf": half });
  expect(mentions(folder, folder, ["backend"])).toBe(true);
  rmSync(join(folder, "b.tf"));
  expect(mentions(folder, folder, ["backend"])).toBe(false);
  close();
});

test("checkBackend refuses a record of the backend that is over the limit", () => {
  const { context, folder, close } = job({});
  const data = join(folder, ".terraform");
  mkdirSync(data);
  writeFileSync(join(data, "terraform.tfstate"), `{"a":[${"{},".repeat(100_000)}{}]}`);
  expect(() => checkBackend(context, folder, "own")).toThrow("it is larger than 262144 bytes");
  close();
});

describe("checkBackend with the backend local", () => {
  const shared = join(root, "shared");
  mkdirSync(shared);
  /** A link leads into the workspace. */
  const inside = join(shared, "link", "x.tfstate");
  const check = (path: string | undefined, level: Level = "process") => {
    const { context, folder, close } = job({});
    close();
    mkdirSync(join(folder, ".terraform"));
    const record = { backend: { type: "local", config: { path } } };
    writeFileSync(join(folder, ".terraform", "terraform.tfstate"), JSON.stringify(record));
    if (path === inside) symlinkSync(folder, dirname(inside));
    const place = { id: "x", workspace: context.workspace, state: undefined, user: 1_880_000_000 };
    const isolation = openIsolation(level, place, { ...isolationSettings(root), level });
    return () => checkBackend({ ...context, isolation }, folder, "own");
  };

  test("refuses a file that does not outlive the job, and says what to do", () => {
    const lost = /state would be lost: .*does not outlive the job.* --backend managed/;
    expect(check(inside)).toThrow(lost);
    for (const path of [undefined, "a/b.tfstate", "../../other/x"])
      for (const level of levels) expect(check(path, level), `${path} ${level}`).toThrow(lost);
    for (const level of ["uid", "bubblewrap", "container"] as const)
      for (const path of ["/tmp/x", "/var/tmp/new/x", "/dev/shm/../shm/x"])
        expect(check(path, level), `${path} ${level}`).toThrow(lost);
    for (const level of ["bubblewrap", "container"] as const)
      expect(check("/srv/state/x", level)).toThrow(lost);
  });

  test("accepts a file that stays", () => {
    expect(check(join(shared, "x.tfstate"))).not.toThrow();
    for (const level of ["process", "uid"] as const)
      expect(check("/srv/state/x", level)).not.toThrow();
  });
});

test("checkBackend refuses a plan that was made with the state in another place", () => {
  const { context, folder, close } = job({});
  const data = join(folder, ".terraform");
  mkdirSync(data);
  writeFileSync(join(data, "terraform.tfstate"), '{"backend":{"type":"http"}}');
  const { facts } = context as { facts: { manifest?: object } };
  for (const manifest of [undefined, {}, { backend: "managed" }]) {
    Object.assign(facts, { manifest });
    expect(() => checkBackend(context, folder, "managed")).not.toThrow();
  }
  facts.manifest = { backend: "own" };
  expect(() => checkBackend(context, folder, "managed")).toThrow(
    "the plan was made with the state in the backend that the files declare, and it is kept in the control plane now: plan again",
  );
  close();
});

test("injectBackend replaces an incomplete file of a killed agent", () => {
  const { context, folder, close } = job({ "zzzz_windlass_0123_override.tf.json": "" });
  removeInjected(folder);
  injectBackend(context, folder, "managed");
  expect(readdirSync(folder)).toEqual(["zzzz_windlass_override.tf"]);
  const text = readFileSync(join(folder, "zzzz_windlass_override.tf"), "utf8");
  expect(text).toContain('backend "http" {}');
  close();
});
