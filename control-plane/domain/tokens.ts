import { hash, randomBytes } from "node:crypto";

/** 256 random bits in base64url behind a prefix that secret scanners can find. */
export const newToken = (prefix: string): string =>
  `${prefix}_${randomBytes(32).toString("base64url")}`;

/** SHA-256 in hex: what is stored of a token. */
export const hashToken = (token: string): string => hash("sha256", token, "hex");
