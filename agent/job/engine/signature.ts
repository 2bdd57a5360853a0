/** Checks that a release's checksums are signed by an accepted key. */

/** Throws if no accepted key has signed the list, or the list lacks the file. */
export async function signedChecksum(
  file: string,
  sums: Buffer,
  signature: Buffer,
  publicKeys: string,
): Promise<string> {
  // Loaded only here, because loading it takes longer than most jobs take to find their engine.
  const { createMessage, readKeys, readSignature, verify } = await import("openpgp");
  // openpgp reads only the first of several armored keys.
  const blocks = publicKeys.split(/(?<=-----END PGP PUBLIC KEY BLOCK-----)[^]*?(?=-----BEGIN )/);
  const keys = await Promise.all(blocks.map((armoredKeys) => readKeys({ armoredKeys })));
  const { signatures } = await verify({
    message: await createMessage({ binary: new Uint8Array(sums) }),
    signature: await readSignature({ binarySignature: new Uint8Array(signature) }),
    verificationKeys: keys.flat(),
  });
  const checked = await Promise.allSettled(signatures.map(({ verified }) => verified));
  if (!checked.some(({ status }) => status === "fulfilled")) {
    const [first] = checked;
    const why = first?.status === "rejected" ? `: ${(first.reason as Error).message}` : "";
    throw new Error(`the signature of the checksums is not valid${why}`);
  }
  for (const line of sums.toString("utf8").split("\n")) {
    const [checksum = "", name] = line.trim().split(/\s+/);
    if (name === file && /^[0-9a-f]{64}$/.test(checksum)) return checksum;
  }
  throw new Error(`the signed checksums do not name ${file}`);
}
