import { Type, type Static } from "typebox";
import { Check } from "typebox/value";

export const manifestName = "manifest.json";
export const databaseName = "windlass.db";
export const secretNames = ["CLI_JWT_SECRET", "WINDLASS_SECRET_KEY"] as const;

const Member = Type.Object({
  path: Type.String(),
  size_bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
});
export type Member = Static<typeof Member>;

export const Manifest = Type.Object({
  format: Type.Literal(1),
  version: Type.String(),
  schema_version: Type.Integer({ minimum: 1 }),
  /** The backup contains everything that was committed before this moment. */
  created_at: Type.String(),
  /** The bucket that has the blobs, such as `s3://bucket/prefix`; absent: the archive has them. */
  blobs: Type.Optional(Type.String()),
  /** Every other file of the archive. */
  members: Type.Array(Member),
});
export type Manifest = Static<typeof Manifest>;

export function parseManifest(text: string): Manifest {
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch {
    throw new Error("its manifest is not JSON");
  }
  if (!Check(Manifest, manifest))
    throw new Error("this version of Windlass cannot read its manifest");
  return manifest;
}

/** The path of a blob in a backup, the same as in a data directory. */
export const blobPath = (blob: string): string => `blobs/${blob.slice(0, 2)}/${blob.slice(2)}`;

const names = new RegExp(
  `^(${manifestName}|${databaseName.replace(".", "\\.")}|secrets/(${secretNames.join("|")})|blobs/[0-9a-f]{2}/[0-9a-f]{30})$`,
);

/** Whether a backup may contain a file of this name. No other file is unpacked. */
export const mayHold = (path: string): boolean => names.test(path);
