/** Tokens for private repositories, each for an address, which git gets only in its environment. */

/** One line of the setting: a token, and the address to which it may be sent. */
export interface GitAccess {
  /** `https://host[:port]/[path/]`, without user and token; `http://` only of a claim. */
  readonly address: string;
  readonly user: string;
  readonly token: string;
}

/**
 * Lines `https://user:token@host[:port][/path]`, as of `git credential-store`. The error names the
 * line, never its content.
 */
export function readGitAccess(text: string): GitAccess[] {
  return text.split("\n").flatMap((line, index) => {
    const given = line.trim();
    if (given === "" || given.startsWith("#")) return [];
    const url = URL.canParse(given) ? new URL(given) : undefined;
    const isAddress = url?.protocol === "https:" && isPlain(url.host, given);
    if (!url || !isAddress || !url.username || !url.password) {
      throw new Error(
        `line ${index + 1} must have the form https://user:token@host or https://user:token@host/path`,
      );
    }
    return {
      address: `https://${url.host}${url.pathname.replace(/\/*$/, "/")}`,
      user: decodeURIComponent(url.username),
      token: decodeURIComponent(url.password),
    };
  });
}

/** The protocols that git may use, in the format of GIT_ALLOW_PROTOCOL. */
export const gitProtocols = ({ allowHttp }: { readonly allowHttp: boolean }): string =>
  allowHttp ? "https:http:ssh" : "https:ssh";

/** No prompts, no hosts outside of `known_hosts`, no settings of this machine. */
export const gitEnvironment = (protocols: string): Record<string, string> => ({
  GIT_TERMINAL_PROMPT: "0",
  // A program on the PATH that returns no password.
  GIT_ASKPASS: "false",
  // Keys and known hosts are those of the agent's user.
  GIT_SSH_COMMAND: "ssh -oBatchMode=yes -oStrictHostKeyChecking=yes -oForwardAgent=no",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ALLOW_PROTOCOL: protocols,
});

/**
 * A token is for addresses below its own: git gets it for no other repository, also on the same
 * host. With a token, redirects are not followed, because git 2.39 sends it to the new host too.
 */
export function gitAccessEnvironment(
  all: readonly GitAccess[],
  repository: string | undefined,
  network: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...certificates(network), ...headers(all, repository) };
}

/** Git has its own names for what other programs read from `SSL_CERT_FILE` and `SSL_CERT_DIR`. */
function certificates(network: Readonly<Record<string, string>>): Record<string, string> {
  const file = network["SSL_CERT_FILE"] ?? network["ssl_cert_file"];
  const folder = network["SSL_CERT_DIR"] ?? network["ssl_cert_dir"];
  return {
    ...(file ? { GIT_SSL_CAINFO: file } : {}),
    ...(folder ? { GIT_SSL_CAPATH: folder } : {}),
  };
}

function headers(
  all: readonly GitAccess[],
  repository: string | undefined,
): Record<string, string> {
  const [access] = all
    .filter(({ address }) => repository !== undefined && isBelow(repository, address))
    .toSorted((one, other) => other.address.length - one.address.length);
  if (access === undefined) return {};
  // Git LFS asks at `….git/info/lfs` also if the repository's address has no `.git`.
  const forFiles = access.address.replace(/(?<!\.git)\/$/, ".git/");
  const addresses =
    access.address === repository + "/" ? [access.address, forFiles] : [access.address];
  const settings = [...new Set(addresses)].flatMap((address) => [
    [`http.${address}.extraHeader`, `Authorization: ${basic(access)}`],
    [`http.${address}.followRedirects`, "false"],
  ]);
  return Object.fromEntries([
    ["GIT_CONFIG_COUNT", String(settings.length)],
    ...settings.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]) as Record<string, string>;
}

/** Whether git, too, considers the repository to be below this address. */
export function isBelow(repository: string, address: string): boolean {
  if (!URL.canParse(repository)) return false;
  const { protocol, host, pathname } = new URL(repository);
  return `${protocol}//${host}${pathname.replace(/\/*$/, "/")}`.startsWith(address);
}

/** Returns a token for one repository alone, or none if git would take the address for a pattern. */
export function accessTo(repository: string, user: string, token: string): GitAccess[] {
  const url = URL.canParse(repository) ? new URL(repository) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || !isPlain(url.host, url.pathname)) return [];
  return [
    { address: `${url.protocol}//${url.host}${url.pathname.replace(/\/*$/, "/")}`, user, token },
  ];
}

/** The key of git's setting is a pattern, in which `*` stands for any host. */
const isPlain = (host: string, rest: string): boolean =>
  /^[a-z0-9.-]+(:\d+)?$/.test(host) && !/[\s*?#]/.test(rest);

/** The texts that no log may show. */
export const secretsOfGitAccess = (all: readonly GitAccess[]): string[] =>
  all.flatMap(({ user, token }) => [token, `${user}:${token}`]);

const basic = ({ user, token }: GitAccess): string =>
  `Basic ${Buffer.from(`${user}:${token}`).toString("base64")}`;
