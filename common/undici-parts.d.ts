/** The types of the parts of undici that http-client.ts imports by their paths. */
declare module "undici/lib/api/index.js" {
  import type { Dispatcher } from "undici";
  const api: {
    request(
      this: Dispatcher,
      options: Dispatcher.RequestOptions<unknown>,
    ): Promise<Dispatcher.ResponseData>;
  };
  export default api;
}

declare module "undici/lib/dispatcher/agent.js" {
  export { Agent as default } from "undici";
}

declare module "undici/lib/core/connect.js" {
  export { buildConnector as default } from "undici";
}

declare module "undici/lib/dispatcher/dispatcher.js" {
  export { Dispatcher as default } from "undici";
}

declare module "undici/lib/dispatcher/env-http-proxy-agent.js" {
  export { EnvHttpProxyAgent as default } from "undici";
}

declare module "undici/lib/global.js" {
  import type { getGlobalDispatcher, setGlobalDispatcher } from "undici";
  const globals: {
    getGlobalDispatcher: typeof getGlobalDispatcher;
    setGlobalDispatcher: typeof setGlobalDispatcher;
  };
  export default globals;
}

declare module "undici/lib/interceptor/redirect.js" {
  import type { interceptors } from "undici";
  const redirect: typeof interceptors.redirect;
  export default redirect;
}
