/** Paths begin with a slash, so the address of a server or a mirror ends without one. */
export const withoutEndSlashes = <T extends string | undefined>(address: T): T =>
  address?.replace(/\/+$/, "") as T;
