import { describe, expect } from "vitest";
import type { CreateCloudIdentity } from "../../../../protocol/cloud-identities.ts";
import { features } from "../../../../protocol/features.ts";
import { claimNew, configureWith, start } from "../../../helpers/plane/identity-tokens.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const { it } = planeForFile({ WINDLASS_ISSUER_URL: "https://windlass.example.com" });

/** Of an authority of its own; no one has its key. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUVvYdbDhE8T3JoKJDg82V63rE1z8wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMzAwMTM5NTFaGA8yMTI2MTEwNjAxMzk1
MVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABL1G
GQiequn120xjUCvuPXad4wPLRMUDKWD3YbHsLS6TvyJz5ki6f6iioITxEf6WWADU
mPMYLfTHSLB8ZLTiL5SjUzBRMB0GA1UdDgQWBBRENvSxc/Utb7gfTTmzR9r00xK5
sjAfBgNVHSMEGDAWgBRENvSxc/Utb7gfTTmzR9r00xK5sjAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIBjuZpEkEYonQeVGzjga/jy587S8NH3cTUbg
kWivygX5AiEAmklFNsWWes4uJqYnzh4cQW4Ix6fZ8Mwk5UHKSk5Dh48=
-----END CERTIFICATE-----
`;
const role = (name: string) => `arn:aws:iam::123456789012:role/${name}`;
const ids = {
  tenant_id: "6f1c7b0e-3f1d-4c53-9d5e-0a4f3b2c1d00",
  client_id: "6f1c7b0e-3f1d-4c53-9d5e-0a4f3b2c1d01",
  plan_client_id: "6f1c7b0e-3f1d-4c53-9d5e-0a4f3b2c1d02",
};
const pool = "projects/123456789012/locations/global/workloadIdentityPools/pool/providers/windlass";
const accounts = {
  service_account: "deploy@my-project.iam.gserviceaccount.com",
  plan_service_account: "plan@my-project.iam.gserviceaccount.com",
};

/** An identity of each kind, with what a PLAN and a DEPLOY are given. */
const kinds: readonly [fields: Omit<CreateCloudIdentity, "name">, plan: object, deploy: object][] =
  [
    [
      { provider: "aws_web_identity", role_arn: role("deploy"), plan_role_arn: role("plan") },
      { role_arn: role("plan"), audience: "sts.amazonaws.com" },
      { role_arn: role("deploy"), audience: "sts.amazonaws.com" },
    ],
    [
      { provider: "azure", ...ids },
      { ...ids, client_id: ids.plan_client_id, audience: "api://AzureADTokenExchange" },
      { ...ids, audience: "api://AzureADTokenExchange" },
    ],
    [
      { provider: "gcp", workload_identity_provider: pool, ...accounts },
      { service_account: accounts.plan_service_account, audience: `//iam.googleapis.com/${pool}` },
      { service_account: accounts.service_account, audience: `//iam.googleapis.com/${pool}` },
    ],
    [
      {
        provider: "vault",
        address: "https://vault.example.com:8200",
        role: "deploy",
        plan_role: "plan",
        namespace: "platform",
        ca: certificate,
      },
      { role: "plan", mount: "jwt", audience: "https://vault.example.com:8200", ca: certificate },
      { role: "deploy", mount: "jwt", namespace: "platform" },
    ],
  ];

describe("a cloud identity whose jobs get tokens", () => {
  it.for(kinds)(
    "of %o is claimed only by a runner that knows it, and a PLAN acts as its principal of plans",
    async ([fields, plan, deploy], { owner, client, runner }) => {
      const made = await configureWith(client, runner, owner.zone, { name: "live", ...fields });
      const shown = await client.call("getCloudIdentity", { params: { id: made.identity } });
      expect(shown).toMatchObject({ ...fields, subject: "configuration" });
      expect(shown).not.toHaveProperty("external_id");
      const asked = { configuration_id: made.configuration, job_type: "PLAN" } as const;
      const feature = `identity_${fields.provider}`;
      const others = features.filter((one) => one !== feature);
      await runner.call("heartbeat", { body: { version: "1.0.0", features: others } });
      const waiting = await client.call("createJob", { body: asked });
      expect(await runner.ask("claimJob", { query: {} })).toBeNull();
      expect((await client.call("getJob", { params: { id: waiting.id } })).waiting_reason).toBe(
        `needs_${feature}`,
      );
      await client.call("cancelJob", { params: { id: waiting.id } });
      await runner.call("heartbeat", { body: { version: "1.0.0", features: [...features] } });
      const planned = await claimNew(client, runner, asked);
      expect(planned.cloud_identity).toMatchObject({ provider: fields.provider, ...plan });
      await start(runner, planned);
      await runner.call("reportStatus", {
        params: { id: planned.job.id },
        body: { status: "FAILED" },
      });
      const deployed = await claimNew(client, runner, { ...asked, job_type: "DEPLOY" });
      expect(deployed.cloud_identity).toMatchObject({ provider: fields.provider, ...deploy });
      for (const never of ["subject", "session_tags", "external_id"])
        expect(deployed.cloud_identity).not.toHaveProperty(never);
    },
  );

  it("needs the fields of its provider, has no others, and they are checked", async ({
    client,
  }) => {
    const wrong: readonly Record<string, unknown>[] = [
      { provider: "aws" },
      { provider: "aws", role_arn: role("a"), audience: "x" },
      { provider: "aws_web_identity" },
      { provider: "aws_web_identity", role_arn: role("a"), tenant_id: ids.tenant_id },
      { provider: "aws_web_identity", role_arn: "arn:aws:iam::1:role/a" },
      { provider: "aws_web_identity", role_arn: role("a"), audience: "a b" },
      { provider: "azure", tenant_id: ids.tenant_id },
      { provider: "azure", ...ids, client_id: "no-uuid" },
      { provider: "gcp", workload_identity_provider: "pool" },
      { provider: "gcp", workload_identity_provider: pool, service_account: "a@example.com" },
      { provider: "vault", address: "vault.example.com", role: "deploy" },
      { provider: "vault", address: "https://u:p@vault.example.com", role: "deploy" },
      { provider: "vault", address: "https://vault:99999", role: "deploy" },
      { provider: "vault", address: "https://vault.example.com", role: "a/b" },
      { provider: "vault", address: "https://vault.example.com", role: "a", mount: "../sys" },
      { provider: "vault", address: "https://vault.example.com", role: "a", ca: "no certificate" },
      {
        provider: "vault",
        address: "https://vault.example.com",
        role: "a",
        ca: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
      },
      { provider: "moon", role_arn: role("a") },
    ];
    for (const fields of wrong)
      expect([
        fields,
        await client.refusal("createCloudIdentity", {
          body: { name: "wrong", ...fields } as unknown as CreateCloudIdentity,
        }),
      ]).toEqual([fields, "400 invalid_request"]);
    expect((await client.call("listCloudIdentities")).cloud_identities).toEqual([]);
  });

  it("keeps its provider, loses optional fields with null, and follows defaults", async ({
    client,
  }) => {
    const { id } = await client.call("createCloudIdentity", {
      body: { name: "v", provider: "vault", address: "https://a.example", role: "deploy" },
    });
    const params = { id };
    const change = (body: object) => client.call("updateCloudIdentity", { params, body });
    expect(await change({ audience: "urn:a", plan_role: "plan", mount: "team/jwt" })).toMatchObject(
      {
        audience: "urn:a",
        plan_role: "plan",
        mount: "team/jwt",
      },
    );
    // The default of the audience is the address.
    expect(
      await change({
        audience: "https://b.example",
        address: "https://b.example",
        plan_role: null,
      }),
    ).toMatchObject({ audience: "https://b.example", plan_role: null });
    expect(await change({ address: "https://c.example" })).toMatchObject({
      audience: "https://c.example",
      role: "deploy",
    });
    for (const body of [{ role: null }, { role_arn: role("a") }, { provider: "gcp" }])
      expect(await client.refusal("updateCloudIdentity", { params, body: body as object })).toBe(
        "400 invalid_request",
      );
  });

  it("makes plans stale when it changes, and not when its values are only repeated", async ({
    owner,
    client,
    runner,
    worker,
  }) => {
    void worker;
    const { identity, configuration: configuration_id } = await configureWith(
      client,
      runner,
      owner.zone,
    );
    const planned = await claimNew(client, runner, { job_type: "PLAN", configuration_id });
    const params = { id: identity };
    const { session_tags, subject, audience } = await client.call("getCloudIdentity", { params });
    await client.call("updateCloudIdentity", {
      params,
      body: { session_tags, subject, audience } as object,
    });
    const now = await client.call("getCloudIdentity", { params });
    expect(now).toMatchObject({ session_tags, subject, audience });
    expect(planned.cloud_identity).toMatchObject({ audience });
  });

  it("is refused where the subject of its tokens would be too long", async ({
    owner,
    client,
    runner,
  }) => {
    const long = "ü:".repeat(30);
    const { identity, configuration } = await configureWith(client, runner, owner.zone);
    const name = { name: configuration };
    // person:<36>:zone:zone:configuration:<60 characters, half of them encoded as three>:phase:apply
    await client.call("updateConfiguration", { params: name, body: { name: long } });
    const zone = { params: { id: owner.zone } };
    expect(await client.refusal("updateZone", { ...zone, body: { name: "z".repeat(60) } })).toBe(
      "400 invalid_request",
    );
    const params = { id: identity };
    await client.call("updateCloudIdentity", { params, body: { subject: "zone" } });
    await client.call("updateZone", { ...zone, body: { name: "z".repeat(60) } });
    expect(
      await client.refusal("updateCloudIdentity", { params, body: { subject: "configuration" } }),
    ).toBe("400 invalid_request");
    await client.call("updateConfiguration", {
      params: name,
      body: { cloud_identity_id: null },
    });
    await client.call("updateCloudIdentity", { params, body: { subject: "configuration" } });
    expect(
      await client.refusal("updateConfiguration", {
        params: name,
        body: { cloud_identity_id: identity },
      }),
    ).toBe("400 invalid_request");
    const source = { type: "inline", files: { "main.tf": "" } } as const;
    expect(
      await client.refusal("createConfiguration", {
        body: { name: "*".repeat(100), zone_id: owner.zone, cloud_identity_id: identity, source },
      }),
    ).toBe("400 invalid_request");
  });

  it("returns terraform in its own format, for each kind", async ({
    owner,
    client,
    otherClient,
    runner,
  }) => {
    const { identity, configuration } = await configureWith(client, runner, owner.zone);
    const params = { id: identity };
    const { terraform } = await client.call("getTrustTerraform", { params });
    expect(terraform).toContain('url            = "https://windlass.example.com"');
    expect(terraform).toContain('variable = "windlass.example.com:sub"');
    expect(terraform).toContain(
      `["person:${owner.id}:zone:zone:configuration:network:phase:apply"]`,
    );
    expect(terraform).toContain('name               = "plan"');
    expect(await otherClient.refusal("getTrustTerraform", { params })).toBe("404 not_found");
    const others = kinds.slice(1).map(([fields]) => fields);
    for (const [index, fields] of others.entries()) {
      const made = await client.call("createCloudIdentity", {
        body: { name: `${index}`, ...fields },
      });
      await client.call("updateConfiguration", {
        params: { name: configuration },
        body: { cloud_identity_id: made.id },
      });
      const found = await client.call("getTrustTerraform", { params: { id: made.id } });
      expect(found.terraform).toMatch(/^# Trust of the cloud identity "\d" in tokens of https:/);
      if (fields.provider !== "azure") {
        expect(found.terraform).toContain(configuration);
        expect(found.terraform).toContain("approved_by");
      }
    }
    const aws = await client.call("createCloudIdentity", {
      body: { name: "aws", provider: "aws", role_arn: role("a") },
    });
    expect(await client.refusal("getTrustTerraform", { params: { id: aws.id } })).toBe(
      "400 invalid_request",
    );
    const query = { principal: role("runners") };
    expect(await client.refusal("getTrustPolicy", { params, query })).toBe("400 invalid_request");
  });
});
