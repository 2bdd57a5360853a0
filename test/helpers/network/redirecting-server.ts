/** A server that redirects every request, as a proxy does from http to https. */
import { createServer } from "node:http";
import { listen, type Listening } from "./listen.ts";

/** `target` returns the address for the path of a request. */
export const redirectingServer = (
  target: (path: string) => string,
  status = 301,
): Promise<Listening> =>
  listen(
    createServer((request, response) => {
      request.resume();
      const location = target(request.url ?? "/");
      response.writeHead(status, { location, "content-type": "text/html" }).end("<html>");
    }),
  );
