/** The cookies of this site: no script reads them, no other site's post carries them, and under https no other host sets them. */
import { parseCookie, stringifySetCookie } from "cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../services/context.ts";

/** Whether browsers reach us by https alone. */
export const isSecure = ({ publicUrl }: Context): boolean => publicUrl().startsWith("https:");

/** The value of one of our cookies. */
export const readCookie = (
  context: Context,
  { headers }: FastifyRequest,
  name: string,
): string | undefined => parseCookie(headers.cookie ?? "")[fullName(context, name)];

/** Sets one for so many seconds, or removes it with 0. A later one of the same answer replaces an earlier one of its name. */
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
    // Lax: a link from elsewhere, and a provider's redirect, find people signed in.
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
