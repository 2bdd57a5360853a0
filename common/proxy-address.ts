/** Addresses of HTTP proxies, as in `HTTPS_PROXY` and `HTTP_PROXY`. */

/** Returns null if it is invalid. Like curl and git, adds `http:` to a bare host and port. */
export function proxyAddress(text: string): string | null {
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  return url && /^(https?|socks5h?):$/.test(url.protocol) ? url.href : null;
}

/** Does not repeat the value, which may contain a password. */
export const invalidProxyMessage = (name: string): string =>
  `${name} is not a proxy address. Write it like http://proxy.example.com:3128`;
