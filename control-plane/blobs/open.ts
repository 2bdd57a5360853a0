import type { Network } from "../../common/network.ts";
import type { Blobs } from "./blobs.ts";
import { diskBlobs } from "./disk.ts";
import type { S3Place } from "./s3-place.ts";

interface BlobSettings {
  readonly artifactsDirectory: string;
  readonly s3: S3Place | undefined;
  readonly network: Network;
}

/** Throws `ConfigError` if the settings of a bucket are wrong. */
export async function openBlobs(
  { artifactsDirectory, s3, network }: BlobSettings,
  sharing: { readonly isShared?: boolean } = {},
): Promise<Blobs> {
  if (s3 === undefined) return diskBlobs(artifactsDirectory, sharing);
  const { s3Blobs } = await import("./s3.ts");
  return s3Blobs(s3, network);
}
