/** Where in S3 blobs are. Apart from s3.ts, which loads the SDK. */
export interface S3Place {
  readonly bucket: string;
  /** Without a slash at the end; may be empty. */
  readonly prefix: string;
  /** Whether the bucket is in the path of addresses and not in the host name. */
  readonly isPathStyle: boolean;
  /** Encryption by the object store, besides our own; undefined: as the bucket says. */
  readonly encryption: "AES256" | "aws:kms" | "aws:kms:dsse" | undefined;
  readonly kmsKey: string | undefined;
}

/** Parses an address such as `s3://bucket/prefix`. */
export function parseS3Address(
  address: string,
): { readonly bucket: string; readonly prefix: string } | undefined {
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/+([\w/.=-]{0,500}))?$/.exec(
    address,
  );
  const [, bucket, prefix = ""] = match ?? [];
  return bucket === undefined ? undefined : { bucket, prefix: prefix.replace(/\/+$/, "") };
}

export const s3Address = ({ bucket, prefix }: Pick<S3Place, "bucket" | "prefix">): string =>
  `s3://${[bucket, prefix].filter((part) => part !== "").join("/")}`;
