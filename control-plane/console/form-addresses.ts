/**
 * A form that was refused leaves its own address in the browser. Opened again, or by another user, it
 * leads to the page with the form.
 */
import type { FastifyInstance } from "fastify";
import { formUrls } from "./page-permissions.ts";
import type { SignedIn } from "./signed-in.ts";

/** Adds a redirect for each form whose address is not a page. Called when all pages are added. */
export function formAddresses(pages: FastifyInstance, signedIn: SignedIn): void {
  const isPage = (url: string): boolean => pages.hasRoute({ method: "GET", url });
  for (const url of formUrls.filter((one) => !isPage(one))) {
    const parts = url.split("/");
    const length = parts.findLastIndex((_, index) => isPage(parts.slice(0, index).join("/")));
    if (length <= 0) continue;
    signedIn("GET", url, async (_, request, reply) => {
      const [path = "", query] = request.url.split("?");
      const page = path.split("/").slice(0, length).join("/");
      reply.redirect(query === undefined ? page : `${page}?${query}`, 303);
    });
  }
}
