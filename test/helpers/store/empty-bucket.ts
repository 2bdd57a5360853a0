/**
 * An S3 endpoint with an empty bucket, and a configuration whose backend runs a program for its
 * credentials.
 */
import { serve } from "../people/providers.ts";

export type EmptyBucket = Awaited<ReturnType<typeof serve>>;

export const emptyBucket = (): Promise<EmptyBucket> =>
  serve(() => ({ url }, response) => {
    const isList = url?.includes("list-type=2");
    const body = isList ? "<ListBucketResult/>" : "<Error><Code>NoSuchKey</Code></Error>";
    response.writeHead(isList ? 200 : 404, { "content-type": "application/xml" }).end(body);
  });

/** Returns the files of a configuration whose `init` runs this shell script. */
export const backendWithProgram = (bucket: string, script: string): Record<string, string> => ({
  "backend.tf": `
terraform {
  backend "s3" {
    bucket                      = "bucket"
    key                         = "state"
    region                      = "us-east-1"
    endpoints                   = { s3 = "${bucket}" }
    use_path_style              = true
    skip_credentials_validation = true
    skip_requesting_account_id  = true
    skip_region_validation      = true
    shared_config_files         = ["aws-config"]
    profile                     = "planted"
  }
}
`,
  "aws-config": "[profile planted]\ncredential_process = sh ./program.sh\n",
  "program.sh": `${script}
echo '{"Version": 1, "AccessKeyId": "x", "SecretAccessKey": "x"}'
`,
});
