/** What a person needs for each page and form of the console. */
import type { Endpoint } from "../../protocol/endpoint.ts";
import { endpoints, type EndpointName } from "../../protocol/endpoints.ts";
import type { Permission } from "../../protocol/roles.ts";
import { urlOf } from "../http/route-of.ts";

/** A permission, or the endpoint that does the same as the page and needs the same. */
export type Needs = Permission | EndpointName;

/** Finds the permission that a link or a form of a page needs, by its address. */
export class PagePermissions {
  readonly #exact = new Map<string, Permission>();
  readonly #patterns: (readonly [parts: readonly string[], permission: Permission])[] = [];

  constructor() {
    // Downloads.
    for (const { method, path, permission } of Object.values<Endpoint>(endpoints))
      if (method === "GET" && permission !== undefined) this.add(method, urlOf(path), permission);
  }

  /** Adds a route, and returns its permission. */
  add(method: string, url: string, needs: Needs): Permission {
    const permission = isName(needs) ? endpoints[needs].permission : needs;
    if (permission === undefined) throw new TypeError(`${needs} declares no permission`);
    const route = `${method} ${url}`;
    // Everyone may read, and pages have many links.
    if (permission === "read") return permission;
    if (url.includes(":")) this.#patterns.push([route.split("/"), permission]);
    else this.#exact.set(route, permission);
    return permission;
  }

  /** Returns undefined if the route of an address, such as `/zones/018f…/delete`, needs no role. */
  of(method: "GET" | "POST", address: string): Permission | undefined {
    const route = `${method} ${address.split(/[?#]/)[0]}`;
    const exact = this.#exact.get(route);
    if (exact !== undefined) return exact;
    const parts = route.split("/");
    return this.#patterns.find(
      ([pattern]) =>
        pattern.length === parts.length &&
        pattern.every((part, index) => part.startsWith(":") || part === parts[index]),
    )?.[1];
  }
}

/** Whether a role in a zone is enough for a page. Those that need `read` show what is in the zones. */
export const isInZones = (needs: Needs): boolean =>
  isName(needs) ? (endpoints[needs] as Endpoint).inZones === true : needs === "read";

const isName = (needs: Needs): needs is EndpointName => Object.hasOwn(endpoints, needs);

declare module "fastify" {
  interface FastifyInstance {
    pagePermissions: PagePermissions;
    /** Where a sign-out may lead on to: the origins of the OpenID Connect providers. */
    logoutOrigins: readonly string[];
  }
}
