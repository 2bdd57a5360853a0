/** The rules for source files as tables, and a check that returns every breach with its reason. */
import type { SourceFile } from "./helpers/project/source-files.ts";

/**
 * Which directories may import which others, type-only imports included. A source file in no
 * directory of the table breaks the rules too.
 */
interface FolderRule {
  /** The start of the paths that the rule covers. Of two matching rules the longer one counts. */
  readonly folder: string;
  /** Starts of the paths that these files may import. Their own directory is always included. */
  readonly may: readonly string[];
  readonly why: string;
}

const below = ["common/", "protocol/"];
const plane = (...folders: string[]) => folders.map((folder) => `control-plane/${folder}`);

const folderRules: readonly FolderRule[] = [
  {
    folder: "main.ts",
    may: ["agent/main.ts", "cli/main.ts", "control-plane/main.ts"],
    why: "the entry loads one role and knows nothing of it but its main.ts",
  },
  { folder: "common/", may: [], why: "common/ is below every role: it knows none of them" },
  {
    folder: "protocol/",
    may: ["common/"],
    why: "protocol/ is the wire and nothing else: it imports its schema library and common/",
  },

  {
    folder: "agent/",
    may: below,
    why: "the agent knows the control plane by protocol/ alone",
  },
  {
    folder: "agent/machine/",
    may: ["common/"],
    why: "what works on the machine knows nothing of jobs or of the control plane",
  },
  {
    folder: "agent/api/",
    may: [...below, "agent/machine/", "agent/job/job-api.ts", "agent/job/job-refused-error.ts"],
    why: "the calls of the control plane implement what a job declares and know nothing else of the agent",
  },
  {
    folder: "agent/logs/",
    may: [...below, "agent/machine/", "agent/api/failures.ts"],
    why: "the log of a job is shipped through the sink that it declares itself",
  },
  {
    folder: "agent/job/",
    may: [...below, "agent/machine/", "agent/logs/"],
    why: "job code sees the small interface that it declares itself, never HTTP, settings or the loops above it",
  },

  {
    folder: "cli/",
    may: below,
    why: "the CLI starts fast because it never loads a server or an agent, and knows both by protocol/ alone",
  },
  {
    folder: "cli/terminal/",
    may: ["common/"],
    why: "what talks to the terminal knows nothing of the server or of commands",
  },
  {
    folder: "cli/api/",
    may: [...below, "cli/terminal/", "cli/config.ts"],
    why: "calls of the server know nothing of commands",
  },

  {
    folder: "control-plane/",
    may: below,
    why: "the control plane serves the wire: it imports neither clients nor other roles",
  },
  {
    folder: "control-plane/domain/",
    may: below,
    why: "the domain is pure: it gets what it needs as arguments",
  },
  {
    folder: "control-plane/store/",
    may: [...below, ...plane("domain/")],
    why: "nothing imports upward: the store knows rows, not callers or rules",
  },
  ...["blobs/", "wakeups/"].map((folder) => ({
    folder: `control-plane/${folder}`,
    may: [...below, ...plane("domain/")],
    why: "nothing imports upward: blobs and wakeups are mechanisms below the services",
  })),
  {
    folder: "control-plane/outbound/",
    may: ["common/"],
    why: "the way out to places that users name knows nothing of what is asked there",
  },
  {
    folder: "control-plane/code-hosts/",
    may: [...below, ...plane("outbound/")],
    why: "a code host is asked by its API: what follows from the answer is decided by the services",
  },
  {
    folder: "control-plane/services/",
    may: [
      ...below,
      ...plane("domain/", "store/", "blobs/", "wakeups/", "outbound/", "code-hosts/"),
    ],
    why: "services are called by routes, pages and guards and know nothing of HTTP",
  },
  {
    folder: "control-plane/http/",
    may: [...below, ...plane("domain/", "services/")],
    why: "guards have services check credentials: store, blobs and wakeups belong to the services",
  },
  {
    folder: "control-plane/routes/",
    may: [...below, ...plane("domain/", "services/", "http/", "openapi/document.ts")],
    why: "a route has a schema and one service call: store, blobs and wakeups belong to the services",
  },
  {
    folder: "control-plane/console/",
    may: [...below, ...plane("domain/", "services/", "http/", "openapi/")],
    why: "a page calls services as a route does: store, blobs and wakeups belong to the services",
  },
  {
    folder: "control-plane/openapi/",
    may: [...below, ...plane("domain/fault-messages.ts")],
    why: "the document is made of protocol/ alone, without a server",
  },
  {
    folder: "control-plane/data-directory/",
    may: [...below, ...plane("config.ts", "blobs/", "domain/", "store/")],
    why: "the data directory is opened before there are services",
  },
  {
    folder: "control-plane/backup/",
    may: [...below, ...plane("config.ts", "domain/", "store/", "blobs/", "data-directory/")],
    why: "a backup reads store and blobs directly, without services",
  },
  {
    folder: "control-plane/commands/",
    may: [
      ...below,
      ...plane(
        "config.ts",
        "domain/",
        "store/",
        "blobs/",
        "outbound/",
        "services/",
        "data-directory/",
        "backup/",
      ),
    ],
    why: "an operator's command works on the data directory, without a server",
  },

  {
    folder: "test/helpers/",
    may: ["main.ts", "agent/", "cli/", ...below, "control-plane/"],
    why: "helpers serve any test: what serves the tests of one directory stands there",
  },
];

/** Rules for single files and for packages. */
interface ImportRule {
  readonly files: RegExp;
  /** The packages that may be imported. */
  readonly only?: RegExp;
  readonly never?: RegExp;
  readonly why: string;
}

const importRules: readonly ImportRule[] = [
  {
    files: /^protocol\/(?!transport\.ts)/,
    only: /^typebox$/,
    never: /^(protocol\/transport|common\/http-client)\.ts$/,
    why: "protocol/ is the wire and nothing else: its schemas do not know how they are sent",
  },
  {
    files: /^protocol\/transport\.ts$/,
    only: /^common\/http-client\.ts$/,
    why: "the transport is the client's side of the wire and nothing else",
  },
  {
    files: /^(?!protocol\/|common\/(http-client\.ts|http-proxies\.ts|undici-parts\.d\.ts)$)/,
    never: /^undici(\/|$)/,
    why: "the index of undici takes 10 MiB and a third of a start: common/http-client.ts and http-proxies.ts load only what is used",
  },
  {
    files: /^control-plane\//,
    never: /^protocol\/transport\.ts$/,
    why: "the control plane serves the wire: the transport is its clients'",
  },
  {
    files: /^control-plane\/(?!(main|server)\.ts)[^/]+$/,
    never: /^control-plane\/(app|main)\.ts$/,
    why: "app.ts is the one place that knows all parts, so no part may know it but server.ts, which runs it",
  },
  {
    files: /^agent\/(?!main\.ts)/,
    never: /^agent\/(main|runner)\.ts$/,
    why: "the agent's arrows go main → runner → loops → job",
  },
  {
    files: /^cli\/[^/]+\//,
    never: /^cli\/(main|program)\.ts$/,
    why: "commands and their work are loaded by the program and do not know it",
  },
  {
    files: /^(?!control-plane\/store\/)/,
    never: /^(kysely|better-sqlite3|pg)(\/|$)/,
    why: "SQL stands in control-plane/store/ only",
  },
  {
    files: /^(?!control-plane\/((http|routes|console)\/|(app|server)\.ts$))/,
    never: /^(fastify$|@fastify\/)/,
    why: "only http/, routes/ and console/ know Fastify",
  },
  {
    files:
      /^(?!(agent\/(job\/(terraform\/spawn|credentials\/listener)|machine\/lock)|common\/notify-systemd)\.ts$)/,
    never: /^node:child_process$/,
    why: "programs are run by execa, which inherits nothing and has bounds (agent/machine/programs.ts); only what outlives the agent (the job's own process, the listener for its credentials), the holder of a lock file and the messages to systemd, which must cost little, are started directly",
  },
  {
    files: /^control-plane\/domain\//,
    never:
      /^(common\/http-client\.ts$|node:(fs|net|http|https|child_process|timers|worker_threads)(\/|$))/,
    why: "the domain is pure: it touches neither disk, network nor clock",
  },
];

/** Files other than config.ts that may read the environment, with the reason. */
const environmentReaders: Readonly<Record<string, string>> = {};

/**
 * Files of the agent that may read the clock, with the reason. All others use `performance.now()`,
 * which no change of the clock affects.
 */
const clockReaders: Readonly<Record<string, string>> = {
  "agent/job/credentials/assume-role.ts":
    "AWS checks a signature's time: the clock and what it is off are sent",
  "agent/job/credentials/listener-http.ts":
    "terraform compares the end of its credentials with this clock",
  "agent/doctor/server-checks.ts": "the doctor looks at the clock itself",
  "agent/job/shared-cache.ts": "times of files: a jump costs a download, nothing in use goes",
  "agent/job/providers/shared.ts": "times of files: a jump costs a download, nothing in use goes",
  "agent/job/credentials/validity.ts": "credentials end by whichever of both clocks comes first",
};

/**
 * Files that may examine the text of another program's message, with the reason why no decision
 * depends on it.
 */
const messageReaders: Readonly<Record<string, string>> = {
  "agent/job/credentials/assume-role.ts":
    "AWS names the missing permission in its text alone; it chooses the advice, not what happens",
  "agent/job/source/archive.ts":
    "tar gives an archive that decompresses too far no code; it chooses the advice, the archive is refused anyway",
  "cli/main.ts": "Commander names the unknown option in its text alone; it chooses a hint",
  "control-plane/store/engines/postgres-connection.ts":
    "pg gives a connection that breaks or cannot be had no code",
  "control-plane/console/configurations/entries-input.ts":
    "V8 tells the place of a JSON fault in its text alone; the rest of it may quote a secret",
};

/** Helpers of tests that may register tests, with the reason why they are no suite. */
const testRegistrars: Readonly<Record<string, string>> = {
  "test/helpers/agent/isolation.ts": "it reports what does not work here as skipped tests",
};

/**
 * The directories of services, from the top to the ground floor. Imports run down; those that run
 * back up are counted, and their number may only fall.
 */
const serviceOrder =
  "search schedules drift notifications pull-requests jobs operations logs graphs zones claims states approvals configurations connections people variable-sets teams releases workers identities issuer plans storage job-changes audit events".split(
    " ",
  );
const mostImportsUp = 6;

/** Returns the imports between directories of services that run back up, if there are too many. */
function importsUp(files: readonly SourceFile[]): string[] {
  const directoryOf = (path: string) => /^control-plane\/services\/([\w-]+)\//.exec(path)?.[1];
  const floor = (path: string) => serviceOrder.indexOf(directoryOf(path) ?? "");
  const unnamed = files.filter(({ path }) => directoryOf(path) !== undefined && floor(path) < 0);
  const up = files.flatMap(({ path, imports }) =>
    imports
      .filter((target) => floor(target) >= 0 && floor(target) < floor(path))
      .map((target) => `${path} imports ${target}: it is on a higher floor of services/`),
  );
  return [
    ...unnamed.map(({ path }) => `${path} is in a directory that serviceOrder does not name`),
    ...(up.length > mostImportsUp ? up : []),
  ];
}

/** Lines of code without blank lines and comments. A longer file should be split by concern. */
const codeLineLimit = 300;

/** Returns every breach of every rule as a readable line. */
export const breaches = (files: readonly SourceFile[]): string[] => [
  ...cycles(files),
  ...importsUp(files),
  ...files.flatMap((file) => [
    ...misplacedImports(file),
    ...file.imports.flatMap((target) =>
      importRules
        .filter((rule) => rule.files.test(file.path))
        .filter(
          (rule) =>
            rule.never?.test(target) === true ||
            (!isOurs(target) && rule.only?.test(target) === false),
        )
        .map((rule) => `${file.path} imports ${target}: ${rule.why}`),
    ),
    ...(file.readsEnvironment &&
    !file.path.endsWith("/config.ts") &&
    !(file.path in environmentReaders)
      ? [
          `${file.path} reads process.env: only config.ts does, so that all settings stand in one place`,
        ]
      : []),
    ...(file.readsClock && file.path.startsWith("agent/") && !(file.path in clockReaders)
      ? [`${file.path} reads the clock: a jump of it must not matter, so use performance.now()`]
      : []),
    ...(file.path in messageReaders
      ? []
      : file.messagesJudged.map(
          (judged) =>
            `${file.path} judges the text of a message: ${judged}. Use a field, a code or a class`,
        )),
    ...(file.codeLines > codeLineLimit
      ? [
          `${file.path} has ${file.codeLines} lines of code, more than ${codeLineLimit}: split it by concern`,
        ]
      : []),
  ]),
];

/** Returns every breach of the rules for helpers of tests as a readable line. */
export const helperBreaches = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) => [
    ...misplacedImports(file),
    ...(file.registersTests && !(file.path in testRegistrars)
      ? [`${file.path} registers tests: a suite stands beside its subject`]
      : []),
  ]);

/**
 * Returns one cycle of imports in words, type-only imports included; an empty list if there is
 * none.
 */
function cycles(files: readonly SourceFile[]): string[] {
  const open = new Map(files.map(({ path, imports }) => [path, imports]));
  const next = (path: string) => open.get(path)?.find((target) => open.has(target));
  // A file that imports no other file is in no cycle, and neither is one that imports only such
  // files.
  let count: number;
  do {
    count = open.size;
    for (const path of open.keys()) if (next(path) === undefined) open.delete(path);
  } while (open.size < count);

  const walk: string[] = [];
  for (let at = open.keys().next().value; at !== undefined; at = next(at)) {
    const start = walk.indexOf(at);
    walk.push(at);
    if (start >= 0)
      return [`${walk.slice(start).join(" imports ")}: a cycle, so none can be read by itself`];
  }
  return [];
}

const isOurs = (target: string): boolean =>
  /^((agent|bench|cli|common|control-plane|protocol|scripts|test)\/|[\w-]+\.ts$)/.test(target);

function misplacedImports({ path, imports }: SourceFile): string[] {
  const [rule] = folderRules
    .filter(({ folder }) => path.startsWith(folder))
    .toSorted((a, b) => b.folder.length - a.folder.length);
  if (!rule)
    return [`${path} is in no directory of the table of directories: add who may import whom`];
  const may = [rule.folder, ...rule.may];
  return imports
    .filter((target) => isOurs(target) && !may.some((start) => target.startsWith(start)))
    .map((target) => `${path} imports ${target}: ${rule.why}`);
}
