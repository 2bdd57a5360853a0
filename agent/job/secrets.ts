/**
 * What the log of a job must not show. What a job learns on its way has to be known to the next agent too, which may ship the rest of the
 * log, so it stands in the journal, sealed: the key comes from the worker's token, and the job's files alone give nothing away.
 */
import { hkdfSync } from "node:crypto";
import { seal, unseal } from "../../common/sealed-box.ts";
import { isSecretEnvironmentName } from "../../protocol/environment-names.ts";
import { redactorOf } from "../logs/redactor.ts";
import { secretLinesLimit, withinLimit } from "../logs/secret-forms.ts";
import { StepFailed, type JobContext } from "./context.ts";
import { secretsOfGitAccess } from "./source/git-access.ts";
import { texts } from "./outcome.ts";

type Known = Pick<JobContext, "claim" | "journal" | "settings">;

/** Sensitive variables in every text that they hold, the tokens, and what this agent and those before it have learnt. */
export function secretsOf({ claim: { job }, journal, settings }: Known): string[] {
  const key = keyOf(settings.workerToken, job.id);
  return [
    ...withinLimit(sensitiveTexts(job)),
    ...(job.job_token ? [job.job_token] : []),
    settings.workerToken,
    ...secretsOfGitAccess(settings.gitAccess),
    ...secretsOfProxies(settings.network),
    ...journal.entries.flatMap((entry) =>
      entry.at === "secrets" ? (open(entry.sealed, key) ?? []) : [],
    ),
  ];
}

/** Terraform gets the addresses of the agent's proxies, with their passwords. */
function secretsOfProxies(network: Readonly<Record<string, string>>): string[] {
  const addresses = Object.values(network).flatMap((text) => URL.parse(text) ?? []);
  return [...new Set(addresses.map(({ password }) => password))].flatMap((password) => {
    try {
      return password === "" ? [] : [...new Set([password, decodeURIComponent(password)])];
    } catch {
      return [password];
    }
  });
}

/** False when the worker's token was changed while the job ran: what the job has learnt before that is not known any more. */
export function knowsAllSecrets({ claim, journal, settings }: Known): boolean {
  const key = keyOf(settings.workerToken, claim.job.id);
  return journal.entries.every((entry) => entry.at !== "secrets" || open(entry.sealed, key));
}

/** Before anything of the job runs: what could not be masked must not be there. */
export function checkSecrets({ claim: { job } }: Pick<Known, "claim">): void {
  const all = sensitiveTexts(job);
  if (withinLimit(all).length < all.length)
    throw new StepFailed(
      `what is sensitive of the configuration has over ${secretLinesLimit} lines and texts, too many to be masked in the log: ` +
        "read them from a file or a secret store, or mark only what is secret as sensitive",
    );
}

function sensitiveTexts({ config_snapshot }: Known["claim"]["job"]): string[] {
  const { variables = {}, environment = {}, backend_config = {} } = config_snapshot;
  return [
    ...new Set([
      ...Object.values(variables)
        .filter(({ sensitive }) => sensitive)
        .flatMap(({ value }) => texts(value)),
      ...secretTexts(environment, config_snapshot.sensitive_environment),
      ...secretTexts(backend_config, config_snapshot.sensitive_backend_config),
    ]),
  ];
}

/** The texts under these names; a server that does not say which are sensitive leaves that to the names. */
const secretTexts = (
  all: Readonly<Record<string, string>>,
  names: readonly string[] = Object.keys(all).filter(isSecretEnvironmentName),
): string[] => names.flatMap((name) => (Object.hasOwn(all, name) ? texts(all[name]) : []));

/** Takes these secrets out of texts that are not the log. */
export function maskerFor(secrets: readonly string[]): (text: string) => string {
  const { redact } = redactorOf(secrets);
  return (text) => redact(Buffer.from(text));
}

/** Takes the secrets of the job out of texts that are not the log. */
export const maskerOf = (context: Known): ((text: string) => string) =>
  maskerFor(secretsOf(context));

/** Makes the log mask these secrets from now on, also after a restart. Throws if they cannot be recorded; the caller must then not print them. */
export function conceal(
  { claim, journal, settings, log }: Known & Pick<JobContext, "log">,
  secrets: readonly string[],
): void {
  const key = keyOf(settings.workerToken, claim.job.id);
  journal.append({ at: "secrets", sealed: seal(key, JSON.stringify(secrets)).toString("base64") });
  log.addSecrets(secrets);
}

/** Returns undefined if the worker's token has changed since: they cannot be decrypted then. */
function open(sealed: string, key: Buffer): string[] | undefined {
  try {
    return JSON.parse(unseal(key, Buffer.from(sealed, "base64")).toString()) as string[];
  } catch {
    return undefined;
  }
}

const keyOf = (workerToken: string, jobId: string): Buffer =>
  Buffer.from(hkdfSync("sha256", workerToken, jobId, "windlass job secrets", 32));
