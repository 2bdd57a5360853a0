/** Errors of pages, shown as pages. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { problemCodes } from "../../protocol/problem.ts";
import { refusalOf } from "../http/problem.ts";
import type { UserCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import { sentence } from "./page/fields.ts";
import { sendPage } from "./page/layout.ts";
import { refusalPage } from "./people/sign-in-pages.ts";
import { findReader } from "./signed-in.ts";

/** Whether a browser asks for a page. Everything below /api/ is for programs. */
export const asksForPage = ({ method, url, headers }: FastifyRequest): boolean =>
  method === "GET" &&
  !/^\/api(\/|$)/.test(url) &&
  (headers.accept ?? "").toLowerCase().includes("text/html");

/** Sends the page of an error, with the navigation if the user is signed in. */
export async function sendErrorPage(
  context: Context,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const refusal = refusalOf(error, request);
  const [status, what] = problemCodes[refusal.code];
  const title = request.is404 ? "There is no such page" : status === 404 ? "Not found" : what;
  // The address of a form is not a page. Link back to the page with the form.
  const back = request.method === "POST" ? request.url.replace(/(\/\d+)?\/[a-z_-]+$/, "") : "/";
  const body = request.is404
    ? refusalPage(title, `This server has no page ${request.url.split("?")[0]}.`)
    : refusalPage(title, sentence(refusal.message), back === "" ? "/" : back);
  // An address without a route has no guard.
  request.caller ??= await findReader(context, request, reply);
  const { email } = (request.caller as UserCaller | null) ?? {};
  sendPage(reply.headers(refusal.headers), { title, body, email }, status);
}
