/** The way to the server in a network that has proxies. */
import { EnvHttpProxyAgent, setGlobalDispatcher } from "undici";

/** From here on requests go through the proxies of the environment (`HTTPS_PROXY`, `HTTP_PROXY`), but for the hosts in `noProxy`. */
export const useProxies = ({ noProxy }: { noProxy: string }): void =>
  setGlobalDispatcher(new EnvHttpProxyAgent({ noProxy }));
