/** Validation of what a configuration names as its source: git addresses and directories. */
import { posix } from "node:path";

const controls = /\p{Cc}/u;

/** Undefined if valid. `parent`: the directory to which it is relative. */
export function directoryProblem(directory: string, parent = ""): string | undefined {
  if (controls.test(directory)) return "must not contain control characters";
  const leaves = /^\.\.(\/|$)/.test(posix.join(parent, directory));
  return leaves ? "must be inside the source: its .. lead out of it" : undefined;
}

/** Returns what is wrong with the address; undefined if it is valid. */
export function gitUrlProblem(url: string): string | undefined {
  const what =
    "must be https://host/path, ssh://user@host/path or user@host:path, or http://host/path for runners with WINDLASS_ALLOW_HTTP=1";
  // oxlint-disable-next-line no-control-regex -- matches control characters
  if (/[\u0000-\u0020\u007f]/.test(url)) return `${what}; it must not contain spaces`;
  if (/^[A-Za-z0-9._-]+@[A-Za-z0-9][A-Za-z0-9.-]*:(?!\/\/)[^:]+$/.test(url)) return undefined;
  const [, scheme = "", authority = "", path] = /^([a-z+]+):\/\/([^/]*)\/(.)?/.exec(url) ?? [];
  if (!["https", "ssh", "http"].includes(scheme) || authority === "" || path === undefined)
    return what;
  if (authority.startsWith("-") || authority.includes("@-")) return what;
  if (/:[^/@]*@/.test(authority) || isToken(authority.split("@")[0] ?? ""))
    return "must not contain a password or a token, because every reader of the configuration would see it. Set WINDLASS_GIT_CREDENTIALS on the agent instead";
  return URL.canParse(url) ? undefined : what;
}

/**
 * Code hosts accept an access token as the user name. Some begin theirs so, and others have 32 or
 * more letters and digits in a row, which no name has: Azure DevOps puts that of the organisation there.
 */
const isToken = (user: string): boolean =>
  /^(gh[a-z]_|github_pat_|gl[a-z]+-|ATBB|ATCTT)|^[A-Za-z0-9]{32,}$/.test(user);
