/**
 * The method and path of each endpoint, which is all that the transport needs at run time. A client
 * starts twice as fast without the schemas, so `npm run endpoint-paths` writes the paths of
 * endpoints.ts to a table.
 */
import paths from "./endpoint-paths.json" with { type: "json" };
import type { Endpoints } from "./endpoints.ts";

export const calledEndpoints = Object.fromEntries(
  Object.entries(paths).map(([name, route]) => {
    const [method, path] = route.split(" ");
    return [name, { method, path }];
  }),
) as Pick<Endpoints, keyof typeof paths>;
