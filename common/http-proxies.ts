/** The part of undici that sends requests through proxies, which a client without them does not load. */
import EnvHttpProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js";

export { EnvHttpProxyAgent };
