/** Sends requests through HTTP proxies. */
import { setGlobalDispatcher } from "../../common/http-client.ts";
import { EnvHttpProxyAgent } from "../../common/http-proxies.ts";
import type { ProxySettings } from "../config.ts";

/** Sends all later requests through the proxies, except to the hosts in `noProxy`. */
export const useProxies = (proxies: ProxySettings): void =>
  setGlobalDispatcher(new EnvHttpProxyAgent(proxies));
