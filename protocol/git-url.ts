/** Which addresses of git repositories are taken; the agent judges again what it is given. */

/** What is wrong with the address, for a person; undefined if nothing is. */
export function gitUrlProblem(url: string): string | undefined {
  const what = "must be https://host/path, ssh://user@host/path or user@host:path";
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\u0000-\u0020\u007f]/.test(url)) return `${what}, without spaces`;
  if (/^[A-Za-z0-9._-]+@[A-Za-z0-9][A-Za-z0-9.-]*:(?!\/\/)[^:]+$/.test(url)) return undefined;
  const [, scheme = "", authority = "", path] = /^([a-z+]+):\/\/([^/]*)\/(.)?/.exec(url) ?? [];
  if (!["https", "ssh", "http"].includes(scheme) || authority === "" || path === undefined)
    return what;
  if (authority.startsWith("-") || authority.includes("@-")) return what;
  if (/:[^/@]*@/.test(authority))
    return "must not contain a password, because everyone who sees the configuration sees it: give the agent a token in WINDLASS_GIT_CREDENTIALS";
  return URL.canParse(url) ? undefined : what;
}
