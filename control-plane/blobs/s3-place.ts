/** Where in S3 blobs are. Apart from s3.ts, which loads the SDK. */
import { ConfigError } from "../../common/settings/config-error.ts";

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

/** Parses an address such as `s3://bucket/prefix`. Throws `ConfigError`. */
export function parseS3Address(address: string): Pick<S3Place, "bucket" | "prefix"> {
  const [, bucket = "", prefix = ""] = /^s3:\/\/([^/]*)\/*(.*)$/s.exec(address) ?? [];
  const refuse = (what: string): never => {
    throw new ConfigError(`WINDLASS_ARTIFACTS_URL must ${what}, not ${JSON.stringify(address)}`);
  };
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    refuse("name a bucket of 3 to 63 lower-case letters, digits, dots and hyphens");
  if (!/^[\w/.=-]{0,500}$/.test(prefix))
    refuse("have a prefix of at most 500 letters, digits and the characters / . _ = -");
  return { bucket, prefix: prefix.replace(/\/+$/, "") };
}

export const s3Address = ({ bucket, prefix }: Pick<S3Place, "bucket" | "prefix">): string =>
  `s3://${[bucket, prefix].filter((part) => part !== "").join("/")}`;
