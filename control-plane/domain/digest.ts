/** Digests that a sender announces with its content, and their check while the content passes. */
import { createHash } from "node:crypto";
import { invalid, RefusalError } from "./refusal.ts";

export interface ExpectedDigest {
  readonly algorithm: "sha256" | "sha512" | "md5";
  readonly value: Buffer;
}

const algorithms = new Map([
  ["sha-256", { algorithm: "sha256", bytes: 32 }],
  ["sha-512", { algorithm: "sha512", bytes: 64 }],
] as const);

/** Parses `Content-Digest` (RFC 9530): `sha-256=:base64:, …`. Ignores other algorithms. */
export function contentDigests(header: string | undefined): ExpectedDigest[] {
  if (header === undefined || header.trim() === "") return [];
  return header.split(",").flatMap((member) => {
    const [, key, encoded] =
      /^\s*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):(?:;.*)?\s*$/.exec(member) ?? [];
    if (key === undefined || encoded === undefined)
      throw invalid("headers.content-digest", "must look like sha-256=:<base64>: (RFC 9530)");
    const known = algorithms.get(key as "sha-256");
    return known
      ? [{ algorithm: known.algorithm, value: decoded("content-digest", encoded, known.bytes) }]
      : [];
  });
}

/** Parses `Content-MD5` (RFC 1864), which terraform sends. */
export const contentMd5 = (header: string | undefined): ExpectedDigest[] =>
  header === undefined
    ? []
    : [{ algorithm: "md5", value: decoded("content-md5", header.trim(), 16) }];

/** Fails at the end if the digest does not match, so that the caller stores nothing. */
export async function* checked(
  content: AsyncIterable<Uint8Array>,
  expected: readonly ExpectedDigest[],
): AsyncGenerator<Uint8Array> {
  const hashes = expected.map(({ algorithm, value }) => ({ value, hash: createHash(algorithm) }));
  for await (const chunk of content) {
    for (const { hash } of hashes) hash.update(chunk);
    yield chunk;
  }
  for (const { hash, value } of hashes)
    if (!hash.digest().equals(value)) throw new RefusalError("digest_mismatch");
}

function decoded(header: string, encoded: string, bytes: number): Buffer {
  const value = Buffer.from(encoded, "base64");
  if (value.length !== bytes || value.toString("base64") !== encoded)
    throw invalid(`headers.${header}`, `must have ${bytes} bytes in base64`);
  return value;
}
