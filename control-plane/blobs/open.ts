import type { Blobs } from "./blobs.ts";
import { diskBlobs } from "./disk.ts";
import type { S3Place } from "./s3-place.ts";

/** Throws `ConfigError` if the settings of a bucket are wrong. */
export async function openBlobs(
  {
    artifactsDirectory,
    s3,
  }: { readonly artifactsDirectory: string; readonly s3: S3Place | undefined },
  sharing: { readonly isShared?: boolean } = {},
): Promise<Blobs> {
  if (s3 === undefined) return diskBlobs(artifactsDirectory, sharing);
  const { s3Blobs } = await import("./s3.ts");
  return s3Blobs(s3);
}
