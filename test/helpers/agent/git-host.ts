/**
 * A host of git repositories on the loopback: TLS, git's own `http-backend`, and a token if
 * required.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { json } from "node:stream/consumers";
import type { Certificate } from "../network/certificate.ts";

export interface GitHost extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
  /** Every request, with its credentials. */
  readonly requests: { path: string; authorization: string | undefined }[];
  /** The required user and password, such as `user:token`; undefined: none. */
  password: string | undefined;
  /** Below this path no password is required. */
  open: string | undefined;
  /** Speaks only the first version of git's protocol, in which commits need a branch or a tag. */
  isOld: boolean;
  /** Redirects every request to this address. */
  redirect: string | undefined;
  /** Adds these files to the repository as a new commit of a branch and returns the commit. */
  commit(name: string, files: Readonly<Record<string, string | Buffer>>, branch?: string): string;
  /** Stores this content for Git LFS and returns its pointer. */
  keep(content: string): string;
  /** Runs git in the repository of this name. */
  git(name: string, ...args: string[]): string;
}

/** Starts a host without repositories. */
export async function startGitHost({ tls }: Certificate): Promise<GitHost> {
  const root = mkdtempSync(join(tmpdir(), "git-host-"));
  const objects = new Map<string, Buffer>();
  const server = createServer(tls, (request, response) => {
    const path = request.url ?? "";
    const { authorization } = request.headers;
    host.requests.push({ path, authorization });
    const { password, redirect, open } = host;
    const isOpen = open !== undefined && path.startsWith(open);
    const expected = !isOpen && password && `Basic ${Buffer.from(password).toString("base64")}`;
    if (redirect !== undefined) {
      response.writeHead(302, { location: redirect + path }).end();
    } else if (expected && authorization !== expected) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
    } else if (path.includes("/info/lfs/")) {
      void answerLfs(objects, `https://${host.host}`, request, response);
    } else {
      if (host.isOld) delete request.headers["git-protocol"];
      serveGit(root, request, response);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const git = (name: string, ...args: string[]): string => {
    const who = ["-c", "user.name=x", "-c", "user.email=x@x"];
    return execFileSync("git", ["-C", join(root, name), ...who, ...args], {
      encoding: "utf8",
      stdio: "pipe",
    }).trim();
  };
  const host: GitHost = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    password: undefined,
    open: undefined,
    isOld: false,
    redirect: undefined,
    git,
    keep(content) {
      const oid = createHash("sha256").update(content).digest("hex");
      objects.set(oid, Buffer.from(content));
      const size = Buffer.byteLength(content);
      return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
    },
    commit(name, files, branch = "main") {
      const folder = join(root, name);
      mkdirSync(folder, { recursive: true });
      git(name, "init", "--quiet", `--initial-branch=${branch}`);
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
      git(name, "add", ".");
      git(name, "commit", "--quiet", "--allow-empty", "-m", "change");
      return git(name, "rev-parse", "HEAD");
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      rmSync(root, { recursive: true, force: true });
    },
  };
  return host;
}

/** Implements the batch API of Git LFS for downloads. */
async function answerLfs(
  objects: ReadonlyMap<string, Buffer>,
  base: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url ?? "";
  if (!path.endsWith("/objects/batch")) {
    return void response.end(objects.get(path.split("/").at(-1) ?? ""));
  }
  const asked = (await json(request)) as { objects: { oid: string; size: number }[] };
  const type = "application/vnd.git-lfs+json";
  const href = (oid: string): string => `${base}${path.replace("objects/batch", oid)}`;
  const found = asked.objects.map(({ oid, size }) =>
    objects.has(oid)
      ? { oid, size, actions: { download: { href: href(oid) } } }
      : { oid, size, error: { code: 404, message: "not found" } },
  );
  response.writeHead(200, { "content-type": type });
  response.end(JSON.stringify({ transfer: "basic", objects: found }));
}

/** Runs git's CGI program as a web server does, for the repositories below `root`. */
export function serveGit(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? "/", "http://x");
  const programs = execFileSync("git", ["--exec-path"], { encoding: "utf8" }).trim();
  const child = spawn(join(programs, "git-http-backend"), {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_ADDR: "127.0.0.1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => undefined);
  const parts: Buffer[] = [];
  child.stdout.on("data", (part: Buffer) => parts.push(part));
  child.once("close", () => {
    const answer = Buffer.concat(parts);
    const end = answer.indexOf("\r\n\r\n");
    for (const line of answer.subarray(0, end).toString("latin1").split("\r\n")) {
      const [name = "", value = ""] = line.split(/:\s*/, 2);
      if (name === "Status") response.statusCode = Number.parseInt(value, 10);
      else if (name) response.setHeader(name, value);
    }
    response.end(answer.subarray(end + 4));
  });
}
