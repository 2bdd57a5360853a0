/** The proxies, by the names that other programs use too, also in lower case. */
import type { Settings } from "./setting.ts";

const proxy = {
  type: "text",
  expected: "an address such as http://proxy.example.com:3128",
} as const;

export const proxies = {
  HTTPS_PROXY: { ...proxy, help: "the proxy for https addresses" },
  HTTP_PROXY: { ...proxy, help: "the proxy for http addresses" },
  NO_PROXY: {
    type: "list",
    expected: "hosts",
    help: "hosts that are reached without a proxy",
  },
} as const satisfies Settings;
