/** Tokens for private repositories: each bound to a host, handed to git as a header in its environment and nowhere else. */

/** One line of the setting: a token, and where alone it may go. */
export interface GitAccess {
  /** `https://host[:port]/[path/]`, without user and token. */
  readonly address: string;
  readonly user: string;
  readonly token: string;
}

/**
 * Reads the format of `git credential-store`: a line `https://user:token@host[:port][/path]` each. Throws an error that names the line and
 * never its content.
 */
export function readGitAccess(text: string): GitAccess[] {
  return text.split("\n").flatMap((line, index) => {
    const given = line.trim();
    if (given === "" || given.startsWith("#")) return [];
    const url = URL.canParse(given) ? new URL(given) : undefined;
    // The key of git's setting is a pattern, in which `*` stands for any host.
    const isPlain = /^[a-z0-9.-]+(:\d+)?$/.test(url?.host ?? "") && !/[\s*?#]/.test(given);
    if (url?.protocol !== "https:" || !url.username || !url.password || !isPlain) {
      throw new Error(
        `line ${index + 1} is not like https://user:token@host or https://user:token@host/path`,
      );
    }
    return {
      address: `https://${url.host}${url.pathname.replace(/\/*$/, "/")}`,
      user: decodeURIComponent(url.username),
      token: decodeURIComponent(url.password),
    };
  });
}

/**
 * The part of git's environment that lets it in at the host of this repository, and at no other, and names this network's authorities. Redirects are not followed there: git
 * goes on with the same header to whatever host it was led to (seen with 2.39).
 */
export function gitAccessEnvironment(
  all: readonly GitAccess[],
  repository: string | undefined,
  network: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...certificates(network), ...headers(all, repository) };
}

/** Git does not know the names that everything else goes by. */
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
  const host = repository && URL.canParse(repository) ? new URL(repository).host : undefined;
  const settings = all
    .filter(({ address }) => new URL(address).host === host)
    .flatMap((access) => [
      [`http.${access.address}.extraHeader`, `Authorization: ${basic(access)}`],
      [`http.${access.address}.followRedirects`, "false"],
    ]);
  if (settings.length === 0) return {};
  return Object.fromEntries([
    ["GIT_CONFIG_COUNT", String(settings.length)],
    ...settings.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]) as Record<string, string>;
}

/** What no log may show of them. */
export const secretsOfGitAccess = (all: readonly GitAccess[]): string[] =>
  all.flatMap(({ user, token }) => [token, `${user}:${token}`]);

const basic = ({ user, token }: GitAccess): string =>
  `Basic ${Buffer.from(`${user}:${token}`).toString("base64")}`;
