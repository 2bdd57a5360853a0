/** The way to the server in a network that has proxies. */
import { EnvHttpProxyAgent, setGlobalDispatcher } from "undici";
import type { ProxySettings } from "../config.ts";

/** From here on requests go through the proxies, but for the hosts in `noProxy`. */
export const useProxies = (proxies: ProxySettings): void =>
  setGlobalDispatcher(new EnvHttpProxyAgent(proxies));
