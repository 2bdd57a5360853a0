/** Proxies as people write them into `HTTPS_PROXY` and `HTTP_PROXY`. */

/** The address, with `http:` where only host and port are named, as curl, git and terraform read it; null if it is none. */
export function proxyAddress(text: string): string | null {
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  return url && /^(https?|socks5h?):$/.test(url.protocol) ? url.href : null;
}

/** The message for an invalid address. It does not repeat the value, which may contain a password. */
export const noProxyAddress = (name: string): string =>
  `${name} is no address of a proxy: write it like http://proxy.example.com:3128`;
