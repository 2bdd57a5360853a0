import { describe, expect } from "vitest";
import { type Calls } from "../../../helpers/plane/calls.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const role_arn = "arn:aws:iam::123456789012:role/deployer";
const body = { name: "production", provider: "aws" as const, role_arn };

const { it } = planeForFile();

const configure = (
  client: Calls,
  zone_id: string,
  cloud_identity_id: string | null,
  name = "cluster",
) =>
  client.call("createConfiguration", {
    body: {
      name,
      zone_id,
      cloud_identity_id,
      source: { type: "inline", files: { "main.tf": "" } },
    },
  });

describe("a cloud identity", () => {
  it("gets an external id from the server, which no update changes", async ({ client }) => {
    const made = await client.call("createCloudIdentity", { body });
    const params = { id: made.id };
    const other = "arn:aws-cn:iam::123456789012:role/path/other";
    await client.call("updateCloudIdentity", { params, body: { name: "live", role_arn: other } });
    expect(await client.call("getCloudIdentity", { params })).toMatchObject({
      name: "live",
      role_arn: other,
      external_id: made.external_id,
    });
    const { cloud_identities } = await client.call("listCloudIdentities");
    expect(cloud_identities.map(({ id }) => id)).toEqual([made.id]);
    for (const foreign of [
      { ...body, external_id: made.id },
      { ...body, role_arn: "arn:x" },
    ])
      expect(await client.refusal("createCloudIdentity", { body: foreign })).toBe(
        "400 invalid_request",
      );
    const external = { external_id: made.id } as object;
    expect(await client.refusal("updateCloudIdentity", { params, body: external })).toBe(
      "400 invalid_request",
    );
  });

  it("has a name that is unique per owner, and is not found by other users", async ({
    client,
    otherOwner,
    otherClient,
  }) => {
    const { id, external_id } = await client.call("createCloudIdentity", { body });
    const second = await otherClient.call("createCloudIdentity", { body });
    expect(second.external_id).not.toBe(external_id);
    expect(await client.refusal("createCloudIdentity", { body })).toBe("409 name_taken");
    const params = { id };
    const { refusal } = otherClient;
    const principal = "arn:aws:iam::123456789012:root";
    expect(await refusal("getCloudIdentity", { params })).toBe("404 not_found");
    expect(await refusal("updateCloudIdentity", { params, body: {} })).toBe("404 not_found");
    expect(await refusal("deleteCloudIdentity", { params })).toBe("404 not_found");
    expect(await refusal("getTrustPolicy", { params, query: { principal } })).toBe("404 not_found");
    await expect(configure(otherClient, otherOwner.zone, id)).rejects.toThrow("cloud identity");
  });

  it("returns the trust policy for its role", async ({ client }) => {
    const { id, external_id } = await client.call("createCloudIdentity", { body });
    const principal = "arn:aws:iam::210987654321:role/windlass";
    expect(await client.call("getTrustPolicy", { params: { id }, query: { principal } })).toEqual({
      Version: "2012-10-17",
      Statement: [
        {
          Effect: "Allow",
          Principal: { AWS: principal },
          Action: "sts:AssumeRole",
          Condition: { StringEquals: { "sts:ExternalId": external_id } },
        },
        { Effect: "Allow", Principal: { AWS: principal }, Action: "sts:TagSession" },
      ],
    });
    for (const wrong of ["*", "arn:aws:iam::1:root", 'arn:aws:iam::210987654321:role/"'])
      expect(
        await client.refusal("getTrustPolicy", { params: { id }, query: { principal: wrong } }),
      ).toBe("400 invalid_request");
  });

  it("is part of the claimed job, also of a repeated claim", async ({ owner, client, runner }) => {
    const { id, external_id } = await client.call("createCloudIdentity", { body });
    const spec = await configure(client, owner.zone, id);
    expect(spec.cloud_identity_id).toBe(id);
    const job = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec.id },
    });
    expect(job.cloud_identity_id).toBe(id);
    const options = { headers: { "idempotency-key": "one" } };
    const claimed = await runner.call("claimJob", { query: {} }, options);
    expect(claimed.cloud_identity).toEqual({ provider: "aws", role_arn, external_id });
    expect(await runner.call("claimJob", { query: {} }, options)).toEqual(claimed);
    await client.call("cancelJob", { params: { id: job.id } });
  });

  it("cannot be deleted while a configuration uses it", async ({ owner, client }) => {
    const { id } = await client.call("createCloudIdentity", { body });
    const params = { id };
    const refused = async (names: string) =>
      expect(client.call("deleteCloudIdentity", { params })).rejects.toMatchObject({
        status: 409,
        code: "cloud_identity_in_use",
        message: `the cloud identity "production" is used by the ${names}: choose another one, or none, there first`,
      });
    await configure(client, owner.zone, id);
    await refused('configuration "cluster"');
    for (const name of ["network", "shop"]) await configure(client, owner.zone, id, name);
    await configure(client, owner.zone, null, "another");
    await refused('configurations "shop", "network" and "cluster"');
    for (const name of ["a", "b"]) await configure(client, owner.zone, id, name);
    await refused('configurations "b", "a", "shop" and 2 more');
    const unused = await client.call("createCloudIdentity", { body: { ...body, name: "unused" } });
    await client.call("deleteCloudIdentity", { params: { id: unused.id } });
    expect(await client.refusal("getCloudIdentity", { params: { id: unused.id } })).toBe(
      "404 not_found",
    );
  });

  it("cannot be deleted while a job uses it, which is named", async ({ owner, client, runner }) => {
    const { id } = await client.call("createCloudIdentity", { body });
    const spec = await configure(client, owner.zone, id);
    const job = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: spec.id },
    });
    await client.call("updateConfiguration", {
      params: { name: spec.id },
      body: { cloud_identity_id: null },
    });
    const refused = async (text: string) =>
      expect(client.call("deleteCloudIdentity", { params: { id } })).rejects.toMatchObject({
        code: "cloud_identity_in_use",
        message: `a job uses the cloud identity "production": the PLAN of "cluster" (job ${job.id}) ${text}`,
      });
    await refused("has not ended: wait for it or cancel it first");
    await runner.call("claimJob");
    await runner.call("reportStatus", { params: job, body: { status: "PROCESSING" } });
    await refused("has not ended: wait for it or cancel it first");
    await client.call("cancelJob", { params: job });
    await refused("has ended, but its runner has not released it yet: wait for that first");
  });
});
