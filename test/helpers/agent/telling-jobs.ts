/** Jobs that tell a server of the test what they see while terraform plans, and while it applies. */
import { createServer } from "node:http";
import { listen } from "../network/listen.ts";

export interface TellingJobs extends AsyncDisposable {
  /** A command of a shell that tells these words; the first one names what they are about. */
  tell(words: string): string;
  toldOf(what: string): string[];
  /** Runs one script while terraform plans, and the other while it applies. */
  source(plan: string, apply: string): { type: "inline"; files: Record<string, string> };
  /**
   * Tells the statuses of reading the secrets `plan` and `apply` with the job's token of Vault, the
   * mode of its file, and the token. No argument has the token but the one that tells it.
   */
  readSecrets(name: string): string;
}

const state = JSON.stringify({
  version: 4,
  terraform_version: "1.5.0",
  serial: 1,
  lineage: "l",
  outputs: {},
  resources: [],
});

/** Starts it on a free port. It is also the bucket that the plans read. */
export async function startTellingJobs(): Promise<TellingJobs> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://x");
    const told = searchParams.get("told");
    if (told !== null) seen.push(told);
    const text = pathname.startsWith("/states/") ? state : "";
    // Terraform reads an object in ranges.
    response.writeHead(request.headers.range === undefined ? 200 : 206, {
      "content-type": "application/json",
      "content-length": text.length,
      "content-range": `bytes 0-${text.length - 1}/${text.length}`,
    });
    response.end(text);
  });
  const { url, [Symbol.asyncDispose]: close } = await listen(server);
  const telling: TellingJobs = {
    tell: (words) =>
      `printf %s "${words}" | curl -s -G --data-urlencode told@- -o /dev/null ${url}`,
    toldOf: (what) => seen.filter((one) => one.startsWith(`${what} `)),
    source: (plan, apply) => ({
      type: "inline",
      files: {
        "main.tf": `
          data "terraform_remote_state" "plan" {
            backend = "s3"
            config = {
              bucket = "states", key = "x", region = "eu-central-1"
              endpoints = { s3 = "${url}" }, use_path_style = true
              shared_config_files = ["aws.config"], profile = "plan"
              skip_credentials_validation = true, skip_requesting_account_id = true, skip_metadata_api_check = true
            }
          }
          resource "terraform_data" "apply" {
            provisioner "local-exec" { command = "sh apply.sh" }
          }`,
        "aws.config": "[profile plan]\ncredential_process = sh plan.sh\n",
        "plan.sh": `{ ${plan}\n} >&2\necho '{"Version":1,"AccessKeyId":"x","SecretAccessKey":"y"}'`,
        "apply.sh": apply,
      },
    }),
    readSecrets: (name) => `
      secret() { printf 'header = "X-Vault-Token: %s"\\n' "$(cat ~/.vault-token)" | curl -s -K - -o /dev/null -w '%{http_code}' "$VAULT_ADDR/v1/secret/data/$1"; }
      ${telling.tell(`${name} $(secret plan) $(secret apply) $(stat -c %a ~/.vault-token) $(cat ~/.vault-token)`)}`,
    [Symbol.asyncDispose]: close,
  };
  return telling;
}
