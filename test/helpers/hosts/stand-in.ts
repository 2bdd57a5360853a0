/** What the stand-ins of code hosts have in common: what they keep, paths, pages, and refusals. */
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";
import { listen, type Listening } from "../network/listen.ts";

export interface Repository {
  readonly id: number;
  full_name: string;
  readonly branches: Map<string, string>;
  readonly pulls: Map<number, Pull>;
  /** The files that differ between two commits, by `from...to`; others are not known any more. */
  readonly compared: Map<string, string[]>;
  /** By commit and context; the newest counts. */
  readonly statuses: Map<string, { state: string; description: string; target_url: string }>;
  readonly comments: { id: number; pull: number; login: string; body: string }[];
  readonly hooks: { id: number; url: string; secret: string }[];
  /** Commits that a branch or a request had when the host was asked for something. */
  readonly commits: Set<string>;
  /** People who may write. */
  readonly writers: Set<string>;
}

export interface Pull {
  readonly number: number;
  title: string;
  readonly author: string;
  readonly head: string;
  sha: string;
  readonly base: string;
  readonly files: string[];
  isFork: boolean;
  isDraft: boolean;
  state: "open" | "closed";
  merge: string | null;
}

export interface Call {
  readonly method: string;
  /** Below the API's address. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

export type Answer = readonly [
  status: number,
  value?: unknown,
  headers?: Readonly<Record<string, string>>,
];

/** What every request gets instead of an answer. */
export interface Fault {
  answer?:
    | { status: number; headers?: Record<string, string>; text?: string }
    | "silence"
    | "endless";
  /** Sees each call of the API before its answer. */
  seen?: (call: Call) => void;
}

/** Starts a host of which `answer` is the API, below the path `api`; `serve` serves the rest. */
export async function startStandIn(
  api: string,
  answer: (call: Call, url: string) => Answer | Promise<Answer>,
  serve?: RequestListener,
) {
  const repositories: Repository[] = [];
  const requests: string[] = [];
  const fault: Fault = {};
  const server = createServer((request, response) => {
    if (serve && !request.url?.startsWith(`${api}/`)) return serve(request, response);
    requests.push(`${request.method} ${request.url}`);
    if (fault.answer !== undefined) return failWith(fault.answer, response);
    void text(request).then(async (sent) => {
      for (const one of repositories) for (const commit of namedIn(one)) one.commits.add(commit);
      const { pathname, searchParams: query } = new URL(request.url ?? "", "http://host");
      const { method = "", headers } = request;
      const body = sent === "" ? {} : (JSON.parse(sent) as Record<string, unknown>);
      const call = { method, path: pathname.slice(api.length), query, headers, body };
      fault.seen?.(call);
      const answered = async (): Promise<Answer> =>
        pathname.startsWith(`${api}/`) ? answer(call, listening.url) : [404, {}];
      const [status, value, more = {}] = await answered().catch((error: Error): Answer => [
        500,
        { message: `stand-in: ${error.message}` },
      ]);
      response.writeHead(status, { "content-type": "application/json", ...more });
      response.end(value === undefined ? "" : JSON.stringify(value));
    });
  });
  const listening: Listening = await listen(server);
  return {
    ...listening,
    api: listening.url + api,
    repositories,
    requests,
    fault,
    addRepository: (full_name: string): Repository => {
      const repository: Repository = {
        id: repositories.length + 1,
        full_name,
        branches: new Map(),
        pulls: new Map(),
        compared: new Map(),
        statuses: new Map(),
        comments: [],
        hooks: [],
        commits: new Set(),
        writers: new Set(),
      };
      repositories.push(repository);
      return repository;
    },
  };
}
export type StandIn = Awaited<ReturnType<typeof startStandIn>>;

function failWith(fault: NonNullable<Fault["answer"]>, response: ServerResponse): void {
  if (fault === "silence") return;
  if (fault === "endless") {
    response.writeHead(200, { "content-type": "application/json" });
    const more = () => {
      while (response.write(Buffer.alloc(256 * 1024, " ")));
    };
    response.on("drain", more);
    return more();
  }
  response.writeHead(fault.status, fault.headers);
  response.end(fault.text ?? "");
}

type Handler = (call: Call, parts: Readonly<Record<string, string>>) => Answer | undefined;

/** Of what an operation such as `GET /repos/{owner}/{repo}` serves; `{name+}` holds slashes too. */
export function routed(routes: Readonly<Record<string, Handler>>) {
  const compiled = Object.entries(routes).map(([operation, handler]) => {
    const pattern = operation.replace(/\{(\w+)(\+?)\}/g, (_, name: string, isLong: string) =>
      isLong ? `(?<${name}>.+)` : `(?<${name}>[^/]+)`,
    );
    return { operation, handler, pattern: new RegExp(`^${pattern}$`) };
  });
  /** Undefined: there is no such operation. */
  return ({ method, path }: Call) => {
    for (const { operation, handler, pattern } of compiled) {
      const match = pattern.exec(`${method} ${path}`);
      if (!match) continue;
      const parts = Object.fromEntries(
        Object.entries(match.groups ?? {}).map(([name, part]) => [name, decodeURIComponent(part)]),
      );
      return { operation, handler, parts };
    }
    return undefined;
  };
}

/** The page that a request asks for. `size`: the name of its parameter. */
export function paged<T>(
  all: readonly T[],
  query: URLSearchParams,
  size: { readonly name: string; readonly default: number; readonly most: number },
): { readonly items: T[]; readonly hasNext: boolean } {
  const limit = Math.min(Number(query.get(size.name) ?? size.default), size.most);
  const from = (Number(query.get("page") ?? 1) - 1) * limit;
  return { items: all.slice(from, from + limit), hasNext: all.length > from + limit };
}

const namedIn = ({ branches, pulls }: Repository): string[] => [
  ...branches.values(),
  ...[...pulls.values()].flatMap(({ sha, merge }) => (merge ? [sha, merge] : [sha])),
];

/**
 * What differs between two commits, as a comparison from where they parted shows it: undefined if
 * one is not known any more. `dropped`: how many commits of the first are not in the second.
 */
export function comparedOf({ compared }: Repository, from: string, to: string) {
  const files = compared.get(`${from}...${to}`);
  if (files) return { files, dropped: 0 };
  const back = compared.get(`${to}...${from}`);
  // The branch was set back.
  return back && { files: [], dropped: 1, back };
}

export const openPulls = ({ pulls }: Repository): Pull[] =>
  [...pulls.values()].filter(({ state }) => state === "open");

/** An open pull request that changes no files yet. */
export const newPull = (number: number, change: Partial<Pull>): Pull => ({
  number,
  title: `Change ${number}`,
  author: "grace",
  head: `change-${number}`,
  sha: "",
  base: "main",
  files: [],
  isFork: false,
  isDraft: false,
  state: "open",
  merge: null,
  ...change,
});

/** What a request says of a commit replaces what was said under that name. */
export function saveStatus(
  { statuses }: Repository,
  commit: string,
  name: string | undefined,
  { state, description, target_url }: Readonly<Record<string, string>>,
): void {
  statuses.set(`${commit} ${name}`, {
    state: state!,
    description: description!,
    target_url: target_url!,
  });
}

/** Adds a comment of the account whose credential this is. */
export function addComment(repository: Repository, pull: number, login: string, body: string) {
  const comment = { id: (repository.comments.at(-1)?.id ?? 0) + 1, pull, login, body };
  repository.comments.push(comment);
  return comment;
}

/** Returns undefined if there is no comment with this id. */
export function changeComment({ comments }: Repository, id: string | undefined, body: string) {
  const found = comments.find((comment) => String(comment.id) === id);
  return found && Object.assign(found, { body });
}

/**
 * Changes the webhook with this id, or adds one if no id is given. Returns undefined if there is no
 * webhook with this id.
 */
export function saveHook(
  { hooks }: Repository,
  id: string | undefined,
  { url = "", secret = "" }: { url?: string; secret?: string },
) {
  const found = hooks.find((hook) => String(hook.id) === id);
  if (found) Object.assign(found, { url, secret });
  if (found || id !== undefined) return found;
  const hook = { id: hooks.length + 1, url, secret };
  hooks.push(hook);
  return hook;
}
