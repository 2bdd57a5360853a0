/** The verbs of `windlass identities`. */
import { readFileSync } from "node:fs";
import { fileErrorText } from "../../common/file-errors.ts";
import { shellWord } from "../../common/shell-word.ts";
import type { CloudIdentity, CreateCloudIdentity } from "../../protocol/cloud-identities.ts";
import {
  planPrincipalOf,
  principalFields,
  principalOf,
  requiredFields,
  type IdentityProvider,
  type SubjectForm,
} from "../../protocol/identity-kinds.ts";
import type { Api } from "../api/api.ts";
import { teamWords } from "../api/team.ts";
import { confirm } from "../terminal/ask.ts";
import { CliError, print } from "../terminal/output.ts";
import { time } from "../terminal/times.ts";
import { findIn } from "../teams/elsewhere.ts";
import type { Run } from "../run.ts";

/** Of `create` and `update`; an empty text takes the field away. */
export interface FieldOptions {
  readonly role?: string | undefined;
  readonly planRole?: string | undefined;
  readonly serviceAccount?: string | undefined;
  readonly planServiceAccount?: string | undefined;
  readonly clientId?: string | undefined;
  readonly planClientId?: string | undefined;
  readonly workloadIdentityProvider?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly subscriptionId?: string | undefined;
  readonly address?: string | undefined;
  readonly mount?: string | undefined;
  readonly namespace?: string | undefined;
  readonly ca?: string | undefined;
  readonly audience?: string | undefined;
  readonly subject?: SubjectForm | undefined;
  readonly sessionTags?: boolean | undefined;
}

export interface CreateOptions extends FieldOptions {
  readonly provider: string;
}

export interface UpdateOptions extends FieldOptions {
  readonly rename?: string | undefined;
}

export function list({ api, list: show }: Run, identities: readonly CloudIdentity[]): void {
  show(
    identities,
    {
      NAME: ({ name }) => name,
      PROVIDER: ({ provider }) => provider,
      "ACTS AS": (identity) => principalOf(identity) || "itself",
      ID: ({ id }) => id,
    },
    `There are no cloud identities yet. To create one: windlass identities create --help${teamWords(api.team)}`,
  );
}

export const listAll = async (api: Api): Promise<CloudIdentity[]> =>
  (await api.call("listCloudIdentities")).cloud_identities;

/** Returns a cloud identity by name or id. Throws `CliError` if there is none. */
export const identityOf = ({ api }: Run, name: string): Promise<CloudIdentity> =>
  findIn(api, "identity", "identities", listAll, name);

export function show(run: Run, it: CloudIdentity): void {
  const field = principalFields[it.provider];
  const what = field === "role_arn" ? "role" : field.replaceAll("_", " ");
  run.show(it, {
    name: it.name,
    id: it.id,
    provider: it.provider,
    [what]: principalOf(it) || undefined,
    [`${what} of plans`]: planPrincipalOf(it) || undefined,
    "external id": it.external_id,
    "identity provider": it.workload_identity_provider,
    tenant: it.tenant_id,
    subscription: it.subscription_id,
    address: it.address,
    mount: it.mount,
    namespace: it.namespace,
    authorities: it.ca ? "of its own" : undefined,
    audience: it.audience,
    "subject names": it.subject,
    "session tags": it.session_tags === undefined ? undefined : it.session_tags ? "yes" : "no",
    created: time(it.created_at),
  });
}

export async function create(run: Run, name: string, options: CreateOptions): Promise<void> {
  const provider = options.provider.replaceAll("-", "_") as IdentityProvider;
  const fields = fieldsOf(provider, options);
  requireOptions(provider, fields);
  const body: CreateCloudIdentity = { name, provider, ...fields };
  show(run, await run.api.call("createCloudIdentity", { body }));
  const own = shellWord(name);
  run.done(
    provider === "aws"
      ? `The role must trust your runners. For the policy: windlass identities trust-policy ${own} --help`
      : `Attach it to a configuration, then let the cloud trust it: windlass identities trust-policy ${own}${teamWords(run.api.team)}`,
  );
}

function requireOptions(provider: IdentityProvider, fields: Fields): void {
  const missing = requiredFields[provider]
    .filter((name) => fields[name] === undefined)
    .map((name) => `--${name.replace(/_arn$/, "").replaceAll("_", "-")}`);
  if (missing.length > 0)
    throw new CliError(
      `Missing ${missing.join(" and ")}. For help: windlass identities create --help`,
      2,
    );
}

export async function update(run: Run, name: string, options: UpdateOptions): Promise<void> {
  const { rename } = options;
  if (Object.keys(options).length === 0)
    throw new CliError("Nothing to change. For help: windlass identities update --help", 2);
  const { id, provider } = await identityOf(run, name);
  const fields = fieldsOf(provider, options);
  const body = { ...fields, ...(rename === undefined ? {} : { name: rename }) };
  show(run, await run.api.call("updateCloudIdentity", { params: { id }, body }));
}

export async function remove(
  run: Run,
  name: string,
  options: { readonly yes?: true | undefined },
): Promise<void> {
  const { id, name: found } = await identityOf(run, name);
  await confirm(`Delete the cloud identity "${found}"?`, options);
  await run.api.call("deleteCloudIdentity", { params: { id } });
  run.done(`The cloud identity "${found}" is deleted.`);
}

export async function trustPolicy(
  run: Run,
  name: string,
  { principal }: { readonly principal?: string | undefined },
): Promise<void> {
  const { id, provider } = await identityOf(run, name);
  const params = { id };
  if (provider !== "aws") {
    if (principal !== undefined)
      throw new CliError(`--principal is for the provider aws; "${name}" is of ${provider}`, 2);
    const { terraform } = await run.api.call("getTrustTerraform", { params });
    if (run.json) print(JSON.stringify({ terraform }));
    else print(terraform.trimEnd());
    return;
  }
  if (principal === undefined)
    throw new CliError("Missing --principal ARN: the principal that your runners run as", 2);
  const query = { principal };
  const policy = await run.api.call("getTrustPolicy", { params, query });
  print(JSON.stringify(policy, null, 2));
}

type Fields = Omit<CreateCloudIdentity, "name" | "provider">;

/** `--role` is the role of AWS, or of Vault. */
function fieldsOf(provider: IdentityProvider, options: FieldOptions): Fields {
  const role = provider === "vault" ? "role" : "role_arn";
  const { ca, subject, sessionTags } = options;
  const texts = {
    [role]: options.role,
    [`plan_${role}`]: options.planRole,
    service_account: options.serviceAccount,
    plan_service_account: options.planServiceAccount,
    client_id: options.clientId,
    plan_client_id: options.planClientId,
    workload_identity_provider: options.workloadIdentityProvider,
    tenant_id: options.tenantId,
    subscription_id: options.subscriptionId,
    address: options.address,
    mount: options.mount,
    namespace: options.namespace,
    ca: ca === undefined || ca === "" ? ca : readPem(ca),
    audience: options.audience,
  };
  const given = Object.entries(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text === "" && name !== role ? null : text] as const],
  );
  return {
    ...(Object.fromEntries(given) as Fields),
    ...(subject === undefined ? {} : { subject }),
    ...(sessionTags === undefined ? {} : { session_tags: sessionTags }),
  };
}

function readPem(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CliError(`${path}: ${fileErrorText(error)}`);
  }
}
