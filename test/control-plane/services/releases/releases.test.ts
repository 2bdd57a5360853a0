import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { ask } from "../../../helpers/plane/plane.ts";
import { addSpec } from "../../../helpers/plane/rows.ts";
import { bearer } from "../../../helpers/people/sign-in.ts";

const secret = "the secret of a pipeline ".repeat(2).trim().replaceAll(" ", "-");

const { plane } = planeForFile({ RELEASE_API_SECRET: secret });
const { plane: without } = planeForFile();
const pipeline = () => callsOf(plane, bearer(secret));

describe("the release endpoints", () => {
  it.each(["publishRelease", "registerCloudWorker"] as const)(
    "refuse a caller without the secret: %s",
    async (endpoint) => {
      const { headers: client, worker } = await addTestUser(plane);
      const wrong = [
        {},
        bearer(`${secret}x`),
        bearer(secret.slice(1)),
        { authorization: `Basic ${secret}` },
        { authorization: secret },
        client,
        worker.headers,
      ];
      for (const headers of wrong)
        expect(
          await callsOf(plane, headers).refusal(endpoint, {
            body: { version: "0.0.1", name: "x" },
          }),
        ).toBe("401 unauthenticated");
    },
  );

  it("are closed if no secret is set", async () => {
    for (const headers of [bearer(secret), bearer("undefined"), { authorization: "Bearer " }])
      expect(
        await callsOf(without, headers).refusal("publishRelease", { body: { version: "0.0.1" } }),
      ).toBe("401 unauthenticated");
  });

  it("report the highest version to workers, whatever the order of publication", async () => {
    const { runner } = await addTestUser(plane);
    const body = { version: "1.0.0" };
    const latest = async () => (await runner.call("heartbeat", { query: {}, body })).latest_version;
    expect(await latest()).toBeNull();
    const seen = [];
    for (const version of ["1.9.0", "1.10.0-rc.1", "1.2.0", "1.10.0", "1.10.0-rc.2"]) {
      await pipeline().call("publishRelease", { body: { version, release_notes: "notes" } });
      seen.push(await latest());
    }
    expect(seen).toEqual(["1.9.0", "1.10.0-rc.1", "1.10.0-rc.1", "1.10.0", "1.10.0"]);
  });

  it("accept a version once, and only a semantic version", async () => {
    await pipeline().call("publishRelease", { body: { version: "0.3.0" } });
    expect(await pipeline().refusal("publishRelease", { body: { version: "0.3.0" } })).toBe(
      "409 version_exists",
    );
    for (const version of ["v1.0.0", "1.0", "01.0.0", "1.0.0-", "", "1.0.0-01", "latest"])
      expect(await pipeline().refusal("publishRelease", { body: { version } })).toBe(
        "400 invalid_request",
      );
  });

  it("register a cloud-hosted runner that serves every user", async () => {
    const { worker_id, worker_token } = await pipeline().call("registerCloudWorker", {
      body: { name: "in the cloud", metadata: { region: "eu", deploy_configuration: {} } },
    });
    const runner = callsOf(plane, { "x-worker-id": worker_id, "x-worker-token": worker_token });
    const { owner, headers, client } = await addTestUser(plane);
    const shown = await client.call("getWorker", { params: { id: worker_id } });
    expect(shown).toMatchObject({ name: "in the cloud", mode: "cloud-hosted", metadata: {} });
    const job = await client.call("createJob", {
      body: {
        job_type: "PLAN",
        configuration_id: await addSpec(plane.context.store, owner),
        assigned_worker_id: worker_id,
      },
    });
    expect((await runner.call("claimJob")).job.id).toBe(job.id);
    for (const path of ["", "/drain", "/rotate-token"]) {
      const method = path === "" ? "DELETE" : "POST";
      const answer = await ask(plane, method, `/api/cli/workers/${worker_id}${path}`, { headers });
      expect(answer.status).toBe(404);
    }
  });

  it("refuse metadata that is too large", async () => {
    const body = { name: randomUUID(), metadata: { big: "x".repeat(65_536) } };
    expect(await pipeline().refusal("registerCloudWorker", { body })).toBe("413 payload_too_large");
  });
});
