/** Settings of the control plane: where its data is. */
import type { Settings } from "./setting.ts";

export const storage = {
  WINDLASS_DATABASE_URL: {
    type: "secret",
    expected: "an address that begins with sqlite: or postgres:",
    otherwise: "windlass.db in the data directory",
    help: "the database, such as sqlite:/srv/windlass/windlass.db or postgres://user:password@host/name",
    details: "See [PostgreSQL](docs/postgresql.md)",
  },
  WINDLASS_DATABASE_OWNER_URL: {
    type: "secret",
    expected: "an address that begins with postgres:",
    otherwise: "WINDLASS_DATABASE_URL",
    help: "the same PostgreSQL database with the role that owns and migrates the tables",
    details: "See [Two roles](docs/postgresql.md#two-roles)",
  },
  WINDLASS_DATABASE_CONNECTIONS: {
    type: "integer",
    min: 3,
    max: 500,
    default: 12,
    help: "how many connections to PostgreSQL each control plane opens at most",
    details: "All of them together must stay below the `max_connections` of the database server",
  },
  WINDLASS_ARTIFACTS_URL: {
    type: "text",
    pattern: /^(file:.+|s3:\/\/[^@?#]+)$/,
    expected: "an address such as file:/srv/windlass/blobs or s3://bucket/prefix",
    otherwise: "blobs in the data directory",
    help: "the directory or S3 bucket of plans, archives, states and logs of finished jobs",
    details: "See [Files in S3](#files-in-s3)",
  },
  WINDLASS_S3_PATH_STYLE: {
    type: "boolean",
    help: "address a bucket as host/bucket, not bucket.host; most stores other than AWS need it",
  },
  WINDLASS_S3_ENCRYPTION: {
    type: "enum",
    values: ["AES256", "aws:kms", "aws:kms:dsse"],
    otherwise: "the bucket's own setting",
    help: "how S3 encrypts objects, besides the encryption with WINDLASS_SECRET_KEY",
  },
  WINDLASS_S3_KMS_KEY: {
    type: "text",
    otherwise: "the key of the bucket or the account",
    help: "the id, alias or ARN of the KMS key for aws:kms",
  },
} as const satisfies Settings;
