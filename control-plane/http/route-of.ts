/** The route that serves a request. */
import type { FastifyRequest } from "fastify";

/**
 * Returns the options of the request's route. Fastify builds them anew each time they are read,
 * which hooks and parsers of one request do four times.
 */
export const routeOf = (request: FastifyRequest): FastifyRequest["routeOptions"] =>
  (request.route ??= request.routeOptions);

declare module "fastify" {
  interface FastifyRequest {
    /** See `routeOf`. */
    route: FastifyRequest["routeOptions"] | null;
  }
}
