import { expect, test } from "vitest";
import { cloudSettings } from "../../../../agent/job/credentials/cloud-providers.ts";

test("cloudSettings returns regions, endpoints, ids and files of each provider, and no secret", () => {
  const places = { AWS_REGION: "eu-central-1", AWS_ENDPOINT_URL_S3: "https://s3.example.com" };
  const google = { GOOGLE_APPLICATION_CREDENTIALS: "/etc/gcp.json" };
  const azure = { ARM_TENANT_ID: "t", AZURE_FEDERATED_TOKEN_FILE: "/token", ARM_USE_MSI: "true" };
  const secrets = {
    AWS_ACCESS_KEY_ID: "s",
    AWS_SECRET_ACCESS_KEY: "s",
    AWS_SESSION_TOKEN: "s",
    AWS_PROFILE: "s",
    AWS_CONFIG_FILE: "s",
    AWS_SHARED_CREDENTIALS_FILE: "s",
    AWS_WEB_IDENTITY_TOKEN_FILE: "s",
    AWS_ROLE_ARN: "s",
    AWS_CONTAINER_AUTHORIZATION_TOKEN: "s",
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "s",
    GOOGLE_CREDENTIALS: "s",
    GOOGLE_OAUTH_ACCESS_TOKEN: "s",
    ARM_CLIENT_SECRET: "s",
    ARM_ACCESS_KEY: "s",
    ARM_CLIENT_CERTIFICATE_PASSWORD: "s",
    ARM_OIDC_TOKEN: "s",
    AZURE_CLIENT_SECRET: "s",
    PATH: "/bin",
  };
  expect(cloudSettings({ ...places, ...google, ...azure, ...secrets, AWS_CA_BUNDLE: "" })).toEqual({
    aws: places,
    gcp: google,
    azure,
  });
});
