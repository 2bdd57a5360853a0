/**
 * Masks a job's secrets in its log. The journal has those that the job has learnt, for the next
 * agent, sealed with a key beside the identity: the job's files alone disclose nothing.
 */
import { hkdfSync, randomBytes } from "node:crypto";
import { join } from "node:path";
import { readIfExists } from "../../common/files.ts";
import { texts } from "../../common/json-texts.ts";
import { secrecyOf } from "../../common/redaction/secrecy.ts";
import { secretLinesLimit, withinLimit } from "../../common/redaction/secret-forms.ts";
import { seal, unseal } from "../../common/sealed-box.ts";
import { isSecretEnvironmentName } from "../../protocol/environment-names.ts";
import { writeWhole } from "../machine/files.ts";
import { StepFailedError, type JobContext, type JobSettings } from "./context.ts";
import { secretsOfGitAccess } from "./source/git-access.ts";
import { withoutPlaces } from "./workspace.ts";

type Known = Pick<JobContext, "claim" | "journal" | "settings">;

/** Sensitive variables, now and in earlier deployments, tokens, and what agents have learnt. */
export function secretsOf({ claim: { job }, journal, settings }: Known): string[] {
  const keys = keysOf(settings, job.id);
  return [
    ...withinLimit(sensitiveTexts(job)),
    ...withinLimit(formerTexts(job)),
    ...(job.job_token ? [job.job_token] : []),
    settings.workerToken,
    ...secretsOfGitAccess(settings.gitAccess),
    ...secretsOfProxies(settings.network),
    ...journal.entries.flatMap((entry) =>
      entry.at === "secrets" ? (open(entry.sealed, keys) ?? []) : [],
    ),
  ];
}

/** Returns the passwords in the addresses of the agent's proxies, which terraform gets too. */
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

/** False if the work directory lost its key meanwhile, and with it what the job had learnt. */
export function knowsAllSecrets({ claim, journal, settings }: Known): boolean {
  const keys = keysOf(settings, claim.job.id);
  return journal.entries.every((entry) => entry.at !== "secrets" || open(entry.sealed, keys));
}

/** Called before the secrets of the job are searched in what is sent and can be made again. */
export function checkSecretsKnown(context: Known): void {
  if (!knowsAllSecrets(context)) throw new StepFailedError(secretsLost);
}

/** In place of everything in which secrets would have to be masked. */
export const secretsLost =
  "what this job prints is held back: the secrets that it had received before the agent was restarted cannot be decrypted, because seal-key in the work directory was changed";

/** Called before anything of the job runs: what cannot be masked must not exist. */
export function checkSecrets({ claim: { job } }: Pick<Known, "claim">): void {
  const all = sensitiveTexts(job);
  if (withinLimit(all).length < all.length)
    throw new StepFailedError(
      `the sensitive values of the configuration have more than ${secretLinesLimit} lines and texts, too many to be masked in the log: ` +
        "read them from a file or a secret store, or mark only secret values as sensitive",
    );
}

/**
 * Whether there were too many former values to mask. No reason to refuse: only a deployment can
 * remove them from the state.
 */
export function missesFormer({ claim: { job } }: Pick<Known, "claim">): boolean {
  const all = formerTexts(job);
  return withinLimit(all).length < all.length;
}

/** A server that does not know the field does not send it. */
const formerTexts = ({ former_secrets }: Known["claim"]["job"]): string[] => texts(former_secrets);

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

/** If the server does not say which are sensitive, the names decide. */
const secretTexts = (
  all: Readonly<Record<string, string>>,
  names: readonly string[] = Object.keys(all).filter(isSecretEnvironmentName),
): string[] => names.flatMap((name) => (Object.hasOwn(all, name) ? texts(all[name]) : []));

/** Masks the secrets of the job in texts that are not the log. */
export const maskerOf = (context: Known): ((text: string) => string) =>
  knowsAllSecrets(context) ? secrecyOf(secretsOf(context)).mask : () => secretsLost;

/** The same for messages of errors, which also name places on this machine. */
export function messageMaskerOf(context: Known): (text: string) => string {
  const mask = maskerOf(context);
  return (text) => mask(withoutPlaces(text, context.settings.workDir, context.claim));
}

/** Also after a restart. Throws if they cannot be recorded: then they must not be printed. */
export function conceal(
  { claim, journal, settings, log }: Known & Pick<JobContext, "log">,
  secrets: readonly string[],
): void {
  const key = keyOf(settings.sealKey, claim.job.id);
  journal.append({ at: "secrets", sealed: seal(key, JSON.stringify(secrets)).toString("base64") });
  log.addSecrets(secrets);
}

/** For the journal: a secret that the next agent needs itself. */
export const sealForJournal = ({ claim, settings }: Known, text: string): string =>
  seal(keyOf(settings.sealKey, claim.job.id), JSON.stringify([text])).toString("base64");

/** Undefined if the work directory lost its key meanwhile. */
export const openFromJournal = ({ claim, settings }: Known, sealed: string): string | undefined =>
  open(sealed, keysOf(settings, claim.job.id))?.[0];

/** Returns undefined if none of the keys opens it. */
function open(sealed: string, keys: readonly Buffer[]): string[] | undefined {
  for (const key of keys) {
    try {
      return JSON.parse(unseal(key, Buffer.from(sealed, "base64")).toString()) as string[];
    } catch {
      // The next one may open it.
    }
  }
  return undefined;
}

/** Agents of earlier versions have sealed with the worker's token, which can be replaced. */
const keysOf = (
  { sealKey, workerToken }: Pick<JobSettings, "sealKey" | "workerToken">,
  jobId: string,
): Buffer[] => [sealKey, workerToken].map((secret) => keyOf(secret, jobId));

const keyOf = (secret: string, jobId: string): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, jobId, "windlass job secrets", 32));

/** Returns the key of this work directory, which outlives the worker's token. */
export function openSealKey(workDir: string): string {
  const path = join(workDir, "seal-key");
  const known = readIfExists(path)?.trim();
  if (known) return known;
  const key = randomBytes(32).toString("base64url");
  writeWhole(path, `${key}\n`, "durable");
  return key;
}
