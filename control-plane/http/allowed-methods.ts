/** Which methods a path has, for requests with another one (RFC 9110, 15.5.6). */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { RefusalError } from "../domain/refusal.ts";

/** Returns the refusal of a request without a route. Call it before routes are added. */
export function refusalWithoutRoute(
  app: FastifyInstance,
): (request: FastifyRequest) => RefusalError {
  const known = new Map<string, { readonly path: RegExp; readonly methods: Set<string> }>();
  app.addHook("onRoute", ({ url, method }) => {
    const at = known.get(url) ?? { path: pathOf(url), methods: new Set() };
    known.set(url, at);
    for (const one of [method].flat()) at.methods.add(one);
  });
  return ({ method, url }) => {
    const path = url.split("?", 1)[0]!;
    const found = [...known.values()].filter((one) => one.path.test(path));
    const allowed = [...new Set(found.flatMap(({ methods }) => [...methods]))]
      .toSorted()
      .join(", ");
    return allowed === ""
      ? new RefusalError("not_found", `this server has no ${method} ${path}`)
      : new RefusalError(
          "method_not_allowed",
          `${path} has no ${method}, but ${allowed}`,
          {},
          { allow: allowed },
        );
  };
}

/** Of a pattern such as `/zones/:id`; each part is literal text, one parameter or a final `*`. */
const pathOf = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split("/")
      .map((part) =>
        part === "*" ? ".*" : part.startsWith(":") ? "[^/]+" : part.replaceAll(/[^\w-]/g, "\\$&"),
      )
      .join("/")}$`,
  );
