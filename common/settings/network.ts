/** The proxies, by the names that other programs use too, also in lower case. */
import type { Settings } from "./setting.ts";

const proxy = {
  type: "text",
  expected: "an address such as http://proxy.example.com:3128",
} as const;

export const authorities = {
  type: "path",
  help: "a file with certificate authorities of this network, in addition to the usual ones",
} as const;

export const proxies = {
  HTTPS_PROXY: { ...proxy, help: "the proxy for https addresses" },
  HTTP_PROXY: {
    ...proxy,
    help: "the proxy for http addresses, and for https ones without HTTPS_PROXY",
  },
  NO_PROXY: {
    type: "list",
    expected: "hosts",
    help: "hosts and domains that are reached without a proxy",
  },
} as const satisfies Settings;
