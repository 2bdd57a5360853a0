import type { FastifyRequest } from "fastify";

/** Cached: Fastify builds them at each read, and one request reads them four times. */
export const routeOf = (request: FastifyRequest): FastifyRequest["routeOptions"] =>
  (request.route ??= request.routeOptions);

/** Returns the path of an endpoint, such as `/zones/{id}`, as routes write it: `/zones/:id`. */
export const urlOf = (path: string): string => path.replace(/\{(\w+)\}/g, ":$1");

declare module "fastify" {
  interface FastifyRequest {
    route: FastifyRequest["routeOptions"] | null;
  }
}
