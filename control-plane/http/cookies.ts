/**
 * The cookies of this site: scripts cannot read them, forms of other sites do not send them, and
 * with https other hosts cannot set them.
 */
import { parseCookie, stringifySetCookie } from "cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../services/context.ts";

/** Whether browsers reach this server only by https. */
export const isSecure = ({ publicUrl }: Context): boolean => publicUrl().startsWith("https:");

export const readCookie = (
  context: Context,
  { headers }: FastifyRequest,
  name: string,
): string | undefined => parseCookie(headers.cookie ?? "")[fullName(context, name)];

/** 0 seconds remove it. In a response, a later cookie replaces an earlier one of its name. */
export function setCookie(
  context: Context,
  reply: FastifyReply,
  name: string,
  value: string,
  maxAge: number,
): void {
  const cookie = stringifySetCookie({
    name: fullName(context, name),
    value,
    maxAge,
    path: "/",
    httpOnly: true,
    // Lax, so that users who follow a link from another site, or a provider's redirect, are signed
    // in.
    sameSite: "lax",
    secure: isSecure(context),
  });
  const before = [reply.getHeader("set-cookie") ?? []].flat().map(String);
  const others = before.filter((line) => !line.startsWith(`${fullName(context, name)}=`));
  reply.removeHeader("set-cookie");
  reply.header("set-cookie", [...others, cookie]);
}

const fullName = (context: Context, name: string): string =>
  isSecure(context) ? `__Host-${name}` : name;
