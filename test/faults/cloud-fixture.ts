/** A user whose jobs assume a role, with a real agent and a strict STS. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Job } from "../../protocol/jobs.ts";
import type { Plane } from "../helpers/plane/plane.ts";
import { caller, startStrictSts, type StrictSts } from "../helpers/agent/strict-sts.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";
import type { User } from "../helpers/people/user.ts";

export const role_arn = "arn:aws:iam::123456789012:role/deployer";

export interface CloudFixture {
  readonly owner: UserMachine;
  readonly user: User;
  readonly sts: StrictSts;
  readonly work: string;
  readonly identity: { readonly id: string; readonly external_id: string };
}

/** A user with an agent and a role that trusts it by the policy that the server returns. */
export async function openCloudFixture(
  plane: Plane,
  { settings = {}, as }: { settings?: Record<string, string>; as?: number | undefined },
): Promise<CloudFixture & AsyncDisposable> {
  const sts = await startStrictSts();
  const owner = await userMachine(plane, {
    as,
    agent: {
      AWS_ENDPOINT_URL_STS: sts.url,
      AWS_EC2_METADATA_DISABLED: "true",
      ...caller.environment,
      // Such a user need not be in the list of users, which has the home of others.
      ...(as === undefined ? {} : { HOME: "/nonexistent" }),
      ...settings,
    },
  });
  const { user, work } = owner;
  const identity = await user.client.call("createCloudIdentity", {
    body: { name: "production", provider: "aws", role_arn },
  });
  const policy = await user.client.call("getTrustPolicy", {
    params: { id: identity.id },
    query: { principal: caller.arn },
  });
  sts.roles.set(role_arn, policy);
  return {
    owner,
    user,
    sts,
    work,
    identity: { id: identity.id, external_id: identity.external_id ?? "" },
    [Symbol.asyncDispose]: async () => {
      await owner[Symbol.asyncDispose]();
      await sts[Symbol.asyncDispose]();
    },
  };
}

/** A configuration whose apply is this command. */
export const running = (command: string, backend = "") => ({
  type: "inline" as const,
  files: {
    "main.tf": `${backend}
      resource "terraform_data" "one" {
        provisioner "local-exec" { command = ${JSON.stringify(command)} }
      }`,
  },
});

export async function deploy(
  { user, identity }: CloudFixture,
  source: object,
  more = {},
): Promise<Job> {
  const cloud_identity_id = identity.id;
  const configuration_id = await user.configure({ source, cloud_identity_id, ...more });
  return user.queue({ job_type: "DEPLOY", configuration_id });
}

export const journalOf = ({ work }: CloudFixture, { id }: Job): string =>
  join(work, "jobs", id, "journal.ndjson");

export function endpointOf(here: CloudFixture, job: Job): { port: number; token: string } {
  const facts = /"address":(\{[^}]*\})/.exec(readFileSync(journalOf(here, job), "utf8"))?.[1];
  return JSON.parse(facts ?? "{}") as { port: number; token: string };
}
