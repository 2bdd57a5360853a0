/** The client's settings: the only file of cli/ that reads the environment. */

/** What the demo's children get from the user's environment: enough to find programs, and no setting of another Windlass. */
export function demoEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const wanted =
    /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|LANG|LC_\w+|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|SSL_CERT_(FILE|DIR)|WINDLASS_ENGINE_\w+)$/i;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => wanted.test(name)));
}
