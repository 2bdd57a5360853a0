/** One algorithm; each place accepts one kind of token (docs/decisions.md, "Sign-in"). */
import { jwtVerify, SignJWT, type JWTPayload } from "jose";
import type { Context } from "../context.ts";

/** The purpose of a token. Each kind is refused in place of another. */
export type TokenType = "access" | "refresh" | "session";

export const secondsOf: Readonly<Record<TokenType, number>> = {
  access: 3600,
  refresh: 90 * 24 * 3600,
  session: 7 * 24 * 3600,
};

export interface Claims {
  readonly sub: string;
  readonly email: string;
  readonly sid: string;
  readonly jti: string;
  /** Epoch seconds, both. */
  readonly iat: number;
  readonly exp: number;
}

const issuer = "windlass";

export function signToken(
  { jwtSecret, now }: Pick<Context, "jwtSecret" | "now">,
  type: TokenType,
  { sub, email, sid, jti }: Omit<Claims, "iat" | "exp">,
): Promise<string> {
  const issuedAt = Math.floor(now() / 1000);
  return new SignJWT({ email, type, sid })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setSubject(sub)
    .setJti(jti)
    .setIssuer(issuer)
    .setAudience(issuer)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + secondsOf[type])
    .sign(jwtSecret);
}

/** Undefined for everything but a valid token of this type. */
export async function verifyToken(
  context: Pick<Context, "jwtSecret" | "now">,
  type: TokenType,
  token: string,
): Promise<Claims | undefined> {
  const claims = await verifyEndedToken(context, type, token);
  return claims && claims.exp * 1000 > context.now() ? claims : undefined;
}

/** Also for an expired token: reuse of an old refresh token is still a theft. */
export async function verifyEndedToken(
  { jwtSecret }: Pick<Context, "jwtSecret">,
  type: TokenType,
  token: string,
): Promise<Claims | undefined> {
  if (!isCanonical(token)) return undefined;
  try {
    const { payload } = await jwtVerify(token, jwtSecret, {
      algorithms: ["HS256"],
      issuer,
      audience: issuer,
      currentDate: new Date(0),
    });
    return payload["type"] === type && hasClaims(payload) ? payload : undefined;
  } catch {
    // Malformed, changed, `alg: none`: none of them is a credential.
    return undefined;
  }
}

const hasClaims = (payload: JWTPayload): payload is JWTPayload & Claims =>
  ["sub", "email", "sid", "jti"].every((name) => typeof payload[name] === "string") &&
  ["iat", "exp"].every((name) => typeof payload[name] === "number");

/** base64's last character has spare bits: a changed token could pass as the same one. */
const isCanonical = (token: string): boolean =>
  token.split(".").every((part) => Buffer.from(part, "base64url").toString("base64url") === part);
