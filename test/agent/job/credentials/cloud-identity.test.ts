import { describe, expect, test } from "vitest";
import {
  cloudEnvironment,
  kindOf,
  phaseOf,
  replacedVariables,
} from "../../../../agent/job/credentials/cloud-identity.ts";
import type { JobContext } from "../../../../agent/job/context.ts";

interface Parts {
  readonly identity?: object | undefined;
  readonly type?: string;
  readonly manifest?: object | null;
  readonly begun?: string;
  readonly environment?: object;
}

const contextOf = ({ identity, type = "DEPLOY", manifest, begun, environment = {} }: Parts) =>
  ({
    claim: {
      job: { id: "job", job_type: type, config_snapshot: { environment } },
      cloud_identity: identity,
    },
    facts: { manifest, credentials: { port: 20_001, token: "password" } },
    journal: {
      find: (_at: string, which: (entry: { step: string }) => boolean) =>
        begun !== undefined && which({ step: begun }) ? { step: begun } : undefined,
    },
    settings: {
      cloud: {
        aws: { AWS_REGION: "eu-west-1" },
        gcp: { GOOGLE_APPLICATION_CREDENTIALS: "/machine.json" },
        azure: { ARM_ENVIRONMENT: "usgovernment", ARM_CLIENT_ID: "of-the-machine" },
      },
    },
    workspace: { googleCredentials: "/w/google.json", vaultAuthority: "/w/ca.pem" },
  }) as unknown as JobContext;

const gcp = { provider: "gcp", workload_identity_provider: "projects/1", audience: "a" };
const azure = { provider: "azure", tenant_id: "t", client_id: "c", audience: "a/b" };
const vault = {
  provider: "vault",
  address: "http://localhost:8200",
  mount: "jwt",
  role: "r",
  audience: "a",
};
const aws = { provider: "aws_web_identity", role_arn: "arn", audience: "sts.amazonaws.com" };

test.each([
  [undefined, undefined],
  [{ provider: "AWS", role_arn: "arn" }, "aws"],
  [aws, "aws_web_identity"],
  [gcp, "gcp"],
  [azure, "azure"],
  [vault, "vault"],
  // A control plane that gives no tokens: the identity of the agent's machine.
  [{ provider: "gcp" }, "machine"],
  [{ provider: "azure" }, "machine"],
])("the identity %j is of the kind %s", (identity, kind) => {
  expect(kindOf(contextOf({ identity }))).toBe(kind);
});

test.each([
  [{ provider: "oracle" }, 'does not support the cloud provider "oracle", only aws, '],
  [{ provider: "aws" }, "the cloud identity names no role_arn"],
  [{ ...aws, audience: undefined }, "the cloud identity names no audience"],
  [{ ...vault, role: "" }, "the cloud identity names no role"],
  [{ ...azure, tenant_id: undefined }, "the cloud identity names no tenant_id"],
])("the identity %j is refused", (identity, message) => {
  expect(() => kindOf(contextOf({ identity }))).toThrow(message);
});

test.each([
  ["a PLAN", { type: "PLAN" }, "plan"],
  ["a DEPLOY of a plan", { manifest: {} }, "apply"],
  ["a DEPLOY that plans itself", { manifest: null }, "plan"],
  ["a DEPLOY that plans itself, once it applies", { manifest: null, begun: "apply" }, "apply"],
  ["a DESTROY", { type: "DESTROY", begun: "plan" }, "plan"],
  ["a DESTROY that applies", { type: "DESTROY", begun: "apply" }, "apply"],
])("%s is in the phase", (_, parts, phase) => {
  expect(phaseOf(contextOf(parts))).toBe(phase);
});

describe("terraform's environment", () => {
  test("has the port of the job for AWS, and settings of the agent that are no secret", () => {
    expect(cloudEnvironment(contextOf({ identity: aws }))).toEqual({
      AWS_REGION: "eu-west-1",
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:20001/credentials",
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "password",
    });
  });

  test("names the file of the job for Google, not the machine's", () => {
    expect(cloudEnvironment(contextOf({ identity: gcp }))).toEqual({
      GOOGLE_APPLICATION_CREDENTIALS: "/w/google.json",
      CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE: "/w/google.json",
    });
  });

  test.each([
    ["PLAN", "p"],
    ["DEPLOY", "c"],
  ])("has the application of a %s for Azure", (type, client) => {
    const identity = { ...azure, plan_client_id: "p", subscription_id: "s" };
    const manifest = type === "PLAN" ? null : {};
    expect(cloudEnvironment(contextOf({ identity, type, manifest }))).toEqual({
      ARM_ENVIRONMENT: "usgovernment",
      ARM_USE_OIDC: "true",
      ARM_USE_CLI: "false",
      ARM_USE_MSI: "false",
      ARM_TENANT_ID: "t",
      ARM_CLIENT_ID: client,
      ARM_SUBSCRIPTION_ID: "s",
      ARM_OIDC_REQUEST_URL: "http://127.0.0.1:20001/token?audience=a%2Fb",
      ARM_OIDC_REQUEST_TOKEN: "password",
    });
  });

  test("leads to Vault, whose token is in a file", () => {
    const identity = { ...vault, namespace: "platform", ca: "PEM" };
    expect(cloudEnvironment(contextOf({ identity }))).toEqual({
      VAULT_ADDR: "http://127.0.0.1:8200",
      VAULT_NAMESPACE: "platform",
      VAULT_CACERT: "/w/ca.pem",
    });
    expect(cloudEnvironment(contextOf({ identity: vault }))).toEqual({
      VAULT_ADDR: "http://127.0.0.1:8200",
    });
  });

  test("is the machine's for a control plane without tokens", () => {
    expect(cloudEnvironment(contextOf({ identity: { provider: "GCP" } }))).toEqual({
      GOOGLE_APPLICATION_CREDENTIALS: "/machine.json",
    });
  });
});

describe("an identity replaces in the environment of the configuration", () => {
  const environment = {
    TF_VAR_a: "",
    GOOGLE_PROJECT: "",
    GOOGLE_CREDENTIALS: "",
    GOOGLE_BACKEND_CREDENTIALS: "",
    CLOUDSDK_CONFIG: "",
    ARM_SUBSCRIPTION_ID: "",
    ARM_CLIENT_SECRET: "",
    ARM_USE_MSI: "",
    ARM_ACCESS_KEY: "",
    AZURE_CLIENT_SECRET: "",
    VAULT_TOKEN: "",
    bao_addr: "",
  };
  test.each([
    [undefined, []],
    [{ provider: "gcp" }, []],
    [aws, []],
    [gcp, ["GOOGLE_CREDENTIALS", "GOOGLE_BACKEND_CREDENTIALS", "CLOUDSDK_CONFIG"]],
    [azure, ["ARM_CLIENT_SECRET", "ARM_USE_MSI", "ARM_ACCESS_KEY", "AZURE_CLIENT_SECRET"]],
    [vault, ["VAULT_TOKEN", "bao_addr"]],
  ])("of %j: %j", (identity, names) => {
    expect(replacedVariables(contextOf({ identity, environment }))).toEqual(names);
  });
});
