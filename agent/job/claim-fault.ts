/**
 * Says what is wrong with a claim. A server that knows only the published interface may send
 * anything, and an error outside of the job's steps would keep its slot.
 */
import type { ClaimedJob, CloudIdentityCredentials } from "../../protocol/executions.ts";
import type { ClaimedSnapshot } from "../../protocol/configurations.ts";
import { jobTypes } from "../../protocol/limits.ts";

/** Returns a message that begins with the field; undefined if the value is right. */
type Check = (value: unknown, field: string) => string | undefined;

const is =
  (what: string, accepts: (value: unknown) => boolean): Check =>
  (value, field) =>
    accepts(value) ? undefined : `${field} must be ${what}`;
const optional =
  (check: Check): Check =>
  (value, field) =>
    value === undefined ? undefined : check(value, field);
/** The field may be missing too. */
const nullable =
  (check: Check): Check =>
  (value, field) =>
    value === undefined || value === null ? undefined : check(value, field);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const object = is("an object", isObject);
const each =
  (check: Check): Check =>
  (value, field) =>
    object(value, field) ??
    firstFault(Object.entries(value as object), ([name, one]) => check(one, `${field}.${name}`));
const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value, field) => {
    const wrong = object(value, field);
    if (wrong !== undefined) return wrong;
    const given = value as Readonly<Record<string, unknown>>;
    return firstFault(Object.entries(checks), ([name, check]) =>
      check(Object.hasOwn(given, name) ? given[name] : undefined, `${field}.${name}`),
    );
  };

function firstFault<T>(
  all: readonly T[],
  faultOf: (one: T) => string | undefined,
): string | undefined {
  for (const one of all) {
    const fault = faultOf(one);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const text = is("text", (value) => typeof value === "string");
const flag = is("true or false", (value) => typeof value === "boolean");
const texts = is(
  "a list of texts",
  (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
);
const positive = is(
  "a whole number from 1",
  (value) => Number.isSafeInteger(value) && Number(value) >= 1,
);
/** Ids become names of directories. */
export const isId = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9A-Za-z-]{1,64}$/.test(value);
const id = is("an id", isId);

const source = fields({
  url: optional(text),
  ref: nullable(text),
  path: nullable(text),
  sha256: optional(text),
  files: optional(object),
});

/** What the steps check themselves may have any type. */
const snapshot: Partial<Record<keyof ClaimedSnapshot, Check>> = {
  name: optional(text),
  source: (value, field) => (isObject(value) ? source(value, field) : undefined),
  engine: optional(text),
  engine_version: nullable(text),
  working_directory: optional(text),
  variables: optional(each(object)),
  environment: optional(object),
  sensitive_environment: optional(texts),
  backend: nullable(text),
  backend_config: optional(object),
  sensitive_backend_config: optional(texts),
  set_variables: optional(texts),
  var_files: optional(texts),
  submodules: optional(flag),
  timeout_seconds: nullable(positive),
};

const job: Partial<Record<keyof ClaimedJob["job"], Check>> = {
  job_type: is(`one of ${jobTypes.join(", ")}`, (value) => jobTypes.includes(value as never)),
  config_snapshot: fields(snapshot),
  spec_id: nullable(id),
  plan_job_id: nullable(id),
  attempt: optional(is("a whole number", Number.isSafeInteger)),
  timeout_seconds: nullable(positive),
  plan_options: nullable(
    fields({
      destroy: optional(flag),
      refresh_only: optional(flag),
      targets: optional(texts),
      replace: optional(texts),
      exclude: optional(texts),
    }),
  ),
  debug: optional(flag),
  job_token: nullable(text),
  targets: optional(texts),
  resumes_teardown: optional(flag),
  deployed_backend: nullable(text),
  unknown_values: optional(fields({ resources: is("a list", Array.isArray), checks: texts })),
  former_secrets: nullable(texts),
  source_access: optional(fields({ username: text, token: text })),
  merge: optional(
    fields({ base_branch: text, base_commit: nullable(text), head_ref: optional(text) }),
  ),
  plan_digest_key: optional(text),
  withheld: optional(texts),
};

const identity: Record<keyof CloudIdentityCredentials, Check> = {
  provider: text,
  role_arn: nullable(text),
  plan_role_arn: nullable(text),
  external_id: nullable(text),
  workload_identity_provider: nullable(text),
  service_account: nullable(text),
  plan_service_account: nullable(text),
  tenant_id: nullable(text),
  client_id: nullable(text),
  plan_client_id: nullable(text),
  subscription_id: nullable(text),
  address: nullable(text),
  mount: nullable(text),
  role: nullable(text),
  plan_role: nullable(text),
  namespace: nullable(text),
  ca: nullable(text),
  audience: nullable(text),
};

/** In a message: a name in a claim may have any length. */
const faultLimit = 500;

export const claimFault = (claim: ClaimedJob): string | undefined =>
  (
    fields(job)(claim.job, "job") ??
    nullable(fields(identity))(claim.cloud_identity, "cloud_identity")
  )?.slice(0, faultLimit);
