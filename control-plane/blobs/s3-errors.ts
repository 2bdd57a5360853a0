/** The SDK's own errors are never passed on: some carry parts of the credentials. */
import { ConfigError } from "../../common/settings/config-error.ts";
import { RefusalError, storageUnavailable } from "../domain/refusal.ts";

interface SdkError {
  readonly name?: string;
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
}

/** The HTTP status of an error; undefined if there was no response. */
export const statusOf = (error: unknown): number | undefined =>
  (error as SdkError).$metadata?.httpStatusCode;

const advice: Readonly<Record<string, string>> = {
  NoSuchBucket: "the bucket does not exist: create it, or correct WINDLASS_ARTIFACTS_URL",
  AccessDenied:
    "access is denied: allow s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucketMultipartUploads",
  Forbidden: "access is denied",
  InvalidAccessKeyId: "the access key does not exist",
  // versitygw's name for it, with 404.
  XAdminUserNotFound: "the access key does not exist",
  SignatureDoesNotMatch: "the secret access key is wrong",
  ExpiredToken: "the credentials have expired",
  PermanentRedirect: "the bucket is in another region: set AWS_REGION",
  AuthorizationHeaderMalformed: "the bucket is in another region: set AWS_REGION",
  CredentialsProviderError:
    "there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role",
  TimeoutError: "it does not respond in time",
};

/** Says what is wrong, in words that contain nothing of a request. */
function reasonOf(error: unknown): string {
  const { name = "Error", code } = error as SdkError;
  const status = statusOf(error);
  const known = advice[name];
  if (known !== undefined) return known;
  if (status !== undefined) return `it responds with ${status} ${name}`;
  return `it cannot be reached (${code ?? name})`;
}

/** Whether only a change of the settings or of the bucket can help. */
export function isMistake(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== undefined) return status >= 300 && status < 500 && ![408, 429].includes(status);
  return (error as SdkError).name === "CredentialsProviderError";
}

/** The error that callers get: a missing object as from a disk, everything else as a 503. */
export function storeError(error: unknown): Error {
  if (error instanceof RefusalError) return error;
  if (["NoSuchKey", "NotFound"].includes((error as SdkError).name ?? ""))
    return Object.assign(new Error("the object does not exist"), { code: "ENOENT" });
  return storageUnavailable(`the server's object store is not available: ${reasonOf(error)}`);
}

/** The error that ends a start. */
export const mistakeError = (address: string, error: unknown): ConfigError =>
  new ConfigError(`WINDLASS_ARTIFACTS_URL (${address}) cannot be used: ${reasonOf(error)}`);
