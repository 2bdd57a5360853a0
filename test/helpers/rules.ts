/** The rules for source files as a table, and the search for files that break one. The reasons are printed with a breach. */
import type { SourceFile } from "./source-files.ts";

interface ImportRule {
  /** The files that the rule is about. */
  readonly files: RegExp;
  /** What they may import; absent: everything that is not in `never`. */
  readonly only?: RegExp;
  readonly never?: RegExp;
  readonly why: string;
}

const importRules: readonly ImportRule[] = [
  {
    files: /^protocol\/(?!transport\.ts)/,
    only: /^(protocol\/(?!transport\.ts)|typebox$)/,
    why: "protocol/ is the wire and nothing else: it imports its schema library and nothing of ours",
  },
  {
    files: /^protocol\/transport\.ts$/,
    only: /^(protocol\/|undici$)/,
    why: "the transport is the client's side of the wire and nothing else",
  },
  {
    files: /^common\//,
    never: /^(agent|cli|control-plane|test|bench|scripts)\//,
    why: "common/ is below every role: it knows none of them",
  },
  {
    files: /^agent\//,
    never: /^(control-plane|cli|test|bench|scripts)\//,
    why: "the agent knows the control plane by protocol/ alone",
  },
  {
    files: /^cli\//,
    never: /^(control-plane|agent|test|bench|scripts)\//,
    why: "the CLI starts fast because it never loads a server or an agent, and knows both by protocol/ alone",
  },
  {
    files: /^control-plane\//,
    never: /^((agent|cli|test|bench|scripts)\/|protocol\/transport\.ts$)/,
    why: "the control plane serves the wire: it has no business with its clients or their transport",
  },
  {
    files: /^(?!control-plane\/store\/)/,
    never: /^(kysely|better-sqlite3|pg)(\/|$)/,
    why: "SQL stands in control-plane/store/ only",
  },
  {
    files: /^control-plane\/(?!(main|server)\.ts)/,
    never: /^control-plane\/(app|main)\.ts$/,
    why: "app.ts is the one place that knows all parts, so no part may know it but server.ts, which runs it",
  },
  {
    files: /^control-plane\/routes\//,
    never: /^control-plane\/(store|blobs|wakeups)\//,
    why: "a route has a schema and one service call: store, blobs and wakeups belong to the services",
  },
  {
    files: /^control-plane\/services\//,
    never: /^(control-plane\/routes\/|fastify$|@fastify\/)/,
    why: "services are called by routes and pages and know nothing of HTTP",
  },
  {
    files: /^control-plane\/domain\//,
    never:
      /^(control-plane\/(?!domain\/|store\/tables\.ts$)|fastify$|@fastify\/|undici$|node:(fs|net|http|https|child_process|timers|worker_threads)(\/|$))/,
    // store/tables.ts is the shape of a row and nothing that runs.
    why: "the domain is pure: it gets what it needs as arguments and touches neither disk, network nor clock",
  },
  {
    files: /^control-plane\/store\//,
    never: /^(control-plane\/(http|routes|services|console)\/|fastify$|@fastify\/)/,
    why: "nothing imports upward: the store knows rows, not callers or rules",
  },
  {
    files: /^control-plane\/(blobs|wakeups)\//,
    never: /^control-plane\/(http|routes|services|console|store)\//,
    why: "nothing imports upward: blobs and wakeups are mechanisms below the services",
  },
  {
    files: /^agent\/(job|logs)\//,
    never: /^agent\/(main|config|runner|heartbeat|claim-loop|api\/(api|job-calls))\.ts$/,
    why: "job code sees the small interface that it declares itself, never HTTP, settings or the loops above it",
  },
  {
    files: /^agent\/(?!main\.ts)/,
    never: /^agent\/(main|runner)\.ts$/,
    why: "the arrows of the agent go main → runner → loops → job",
  },
];

/** Who else than a config.ts may read the environment, and why. */
const environmentReaders: Readonly<Record<string, string>> = {};

/** Files of the agent that may read the clock, and why. All else goes by `performance.now()`, which no change of the clock moves. */
const clockReaders: Readonly<Record<string, string>> = {
  "agent/job/credentials/assume-role.ts":
    "AWS checks a signature's time: the clock and what it is off are sent",
  "agent/job/credentials/endpoint.ts":
    "terraform compares the end of its credentials with this clock",
  "agent/doctor/server-checks.ts": "the doctor looks at the clock itself",
  "agent/job/shared-cache.ts": "times of files: a jump costs a download, nothing in use goes",
  "agent/job/providers/shared.ts": "times of files: a jump costs a download, nothing in use goes",
  "agent/job/credentials/role-session.ts":
    "credentials end by whichever of both clocks comes first",
};

/** What may be told only from the text of another program's message, and why no decision depends on it. */
const messageReaders: Readonly<Record<string, string>> = {
  "agent/job/credentials/assume-role.ts":
    "AWS names the missing permission in its text alone; it chooses the advice, not what happens",
  "control-plane/console/configurations/entries-input.ts":
    "V8 tells the place of a JSON fault in its text alone; the rest of it may quote a secret",
};

/** Lines of code, blank lines and comments not counted. A longer file should be split by concern. */
const codeLineLimit = 300;

/** Every breach of every rule, one readable line each. */
export const breaches = (files: readonly SourceFile[]): string[] => [
  ...cycles(files),
  ...files.flatMap((file) => [
    ...file.imports.flatMap((target) =>
      importRules
        .filter((rule) => rule.files.test(file.path))
        .filter((rule) => rule.never?.test(target) === true || rule.only?.test(target) === false)
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

/** Returns one cycle of imports, type-only ones included, in words; an empty list if there is none. */
function cycles(files: readonly SourceFile[]): string[] {
  const open = new Map(files.map(({ path, imports }) => [path, imports]));
  const next = (path: string) => open.get(path)?.find((target) => open.has(target));
  // A file that imports no other file is in no cycle, and neither is one that imports only such files.
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
