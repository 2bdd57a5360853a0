/** What a person needs for each page and form of the console. */
import type { Endpoint } from "../../protocol/endpoint.ts";
import { endpoints, type EndpointName } from "../../protocol/endpoints.ts";
import type { Permission } from "../../protocol/roles.ts";
import { urlOf } from "../http/route-of.ts";

/** A permission, or the endpoint that does the same as the page and needs the same. */
export type Needs = Permission | EndpointName;

/** What a route needs, and whether a role in a zone is enough for it. */
interface Needed {
  readonly permission: Permission;
  readonly inZones: boolean;
}

/** Finds what a link or a form of a page needs, by its address. */
export class PagePermissions {
  readonly #exact = new Map<string, Needed>();
  readonly #patterns: (readonly [parts: readonly string[], needed: Needed])[] = [];

  constructor() {
    // Downloads.
    for (const [name, { method, path, permission }] of Object.entries<Endpoint>(endpoints))
      if (method === "GET" && permission !== undefined)
        this.add(method, urlOf(path), name as EndpointName);
  }

  /** Adds a route, and returns its permission; `other`: in place of that of its endpoint. */
  add(method: string, url: string, needs: Needs, other?: Permission): Permission {
    const permission = other ?? (isName(needs) ? endpoints[needs].permission : needs);
    if (permission === undefined) throw new TypeError(`${needs} declares no permission`);
    const route = `${method} ${url}`;
    const needed = { permission, inZones: isInZones(needs) };
    // Everyone may read there, and pages have many links.
    if (permission === "read" && needed.inZones) return permission;
    if (url.includes(":")) this.#patterns.push([route.split("/"), needed]);
    else this.#exact.set(route, needed);
    return permission;
  }

  /** Returns undefined if the route of an address, such as `/zones/018f…/delete`, needs no role. */
  of(method: "GET" | "POST", address: string): Needed | undefined {
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
