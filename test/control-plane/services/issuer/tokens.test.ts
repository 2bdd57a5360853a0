import { describe, expect } from "vitest";
import {
  attemptOf,
  awsAudience,
  claimNew,
  configureWith,
  start,
  tokenFor,
  verify,
  webIdentity,
} from "../../../helpers/plane/identity-tokens.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { addTestWorker, ask, readRow, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addPullRequest, addRows } from "../../../helpers/plane/rows.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { addTeam } from "../../../helpers/people/teams.ts";
import { addTestUser } from "../../../helpers/people/user.ts";

const { plane, it } = planeForFile();

const end = { status: "SUCCESS" } as const;

describe("a token of a job", () => {
  it("says which job it is for, and is checked by the published keys", async ({
    owner,
    client,
    runner,
  }) => {
    const { configuration } = await configureWith(client, runner, owner.zone);
    const claimed = await claimNew(client, runner, {
      job_type: "PLAN",
      configuration_id: configuration,
    });
    const { job } = claimed;
    const { token, expires_at } = await runner.call(
      "createIdentityToken",
      { params: { id: job.id }, body: { audience: awsAudience, phase: "plan" } },
      { headers: attemptOf(claimed) },
    );
    const claims = await verify(plane, token);
    const { iat = 0, exp = 0 } = claims;
    expect(claims).toEqual({
      iss: plane.url,
      sub: `person:${owner.id}:zone:zone:configuration:network:phase:plan`,
      aud: awsAudience,
      iat,
      nbf: iat,
      exp: iat + 600,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      kid: expect.any(String),
      space_id: owner.id,
      zone_id: owner.zone,
      configuration_id: configuration,
      job_id: job.id,
      attempt: 1,
      job_type: "PLAN",
      phase: "plan",
      approved_by: [],
    });
    expect(Date.parse(expires_at)).toBe(exp * 1000);
    expect(Math.abs(iat * 1000 - plane.context.now())).toBeLessThan(60_000);
  });

  it("is of the phase plan only for a PLAN, and of both for a DEPLOY that has started", async ({
    owner,
    client,
    runner,
  }) => {
    const { configuration: configuration_id } = await configureWith(client, runner, owner.zone);
    const refused = (claimed: Parameters<typeof tokenFor>[1], phase: "plan" | "apply") =>
      runner.refusal("createIdentityToken", {
        params: { id: claimed.job.id },
        body: { audience: awsAudience, phase },
      });
    const plan = await claimNew(client, runner, { job_type: "PLAN", configuration_id });
    await start(runner, plan);
    expect(await refused(plan, "apply")).toBe("403 phase_not_allowed");
    await tokenFor(runner, plan, "plan");
    const params = { id: plan.job.id };
    await runner.call("reportStatus", { params, body: end });
    expect(await refused(plan, "plan")).toBe("409 job_ended");
    for (const job_type of ["DEPLOY", "DESTROY"] as const) {
      const job = await claimNew(client, runner, { job_type, configuration_id });
      expect(await refused(job, "plan")).toBe("403 phase_not_allowed");
      expect(await refused(job, "apply")).toBe("403 phase_not_allowed");
      await start(runner, job);
      const tokens = [await tokenFor(runner, job, "plan"), await tokenFor(runner, job, "apply")];
      const claims = await Promise.all(tokens.map(({ token }) => verify(plane, token)));
      expect(claims.map(({ sub, phase, job_type: type }) => [sub, phase, type])).toEqual([
        [expect.stringMatching(/:phase:plan$/), "plan", job_type],
        [expect.stringMatching(/:phase:apply$/), "apply", job_type],
      ]);
      expect(claims[0]?.jti).not.toBe(claims[1]?.jti);
      await runner.call("reportStatus", { params: { id: job.job.id }, body: end });
    }
  });

  it("is given until a cancelled or lost job can no longer save its state", async ({
    owner,
    client,
    runner,
  }) => {
    const { configuration: configuration_id } = await configureWith(client, runner, owner.zone);
    const body = { audience: awsAudience, phase: "apply" } as const;
    const cancelled = await claimNew(client, runner, { job_type: "DEPLOY", configuration_id });
    const params = { id: cancelled.job.id };
    await start(runner, cancelled);
    await client.call("cancelJob", { params });
    await verify(plane, (await tokenFor(runner, cancelled, "apply")).token);
    await runner.call("reportStatus", { params, body: { status: "CANCELLED" } });
    expect(await runner.refusal("createIdentityToken", { params, body })).toBe("409 job_ended");

    const lost = await claimNew(client, runner, { job_type: "DEPLOY", configuration_id });
    const { id, job_token } = lost.job;
    await start(runner, lost);
    await ask(plane, "LOCK", `/api/state/${configuration_id}`, {
      headers: {
        authorization: `Basic ${Buffer.from(`${id}:${job_token}`).toString("base64")}`,
      },
      json: { ID: "lock" },
    });
    await setRows(plane, "jobs", { status: "FAILED", released_at: 1, ended_at: 1 }, { id });
    await tokenFor(runner, lost, "apply");
    await setRows(
      plane,
      "state_locks",
      { job_id: cancelled.job.id },
      { spec_id: configuration_id },
    );
    expect(await runner.refusal("createIdentityToken", { params: { id }, body })).toBe(
      "409 job_ended",
    );
  });

  it("has the audience of its identity and no other", async ({ owner, client, runner }) => {
    const audience = "urn:example:audience";
    const { configuration } = await configureWith(client, runner, owner.zone, {
      name: "vault",
      provider: "vault",
      address: "https://vault.example.com:8200",
      role: "apply",
      audience,
    });
    const plan = { job_type: "PLAN", configuration_id: configuration } as const;
    const claimed = await claimNew(client, runner, plan);
    expect(claimed.cloud_identity).toEqual({
      provider: "vault",
      address: "https://vault.example.com:8200",
      role: "apply",
      mount: "jwt",
      audience,
    });
    const params = { id: claimed.job.id };
    for (const other of [awsAudience, "https://vault.example.com:8200", `${audience}x`])
      expect(
        await runner.refusal("createIdentityToken", {
          params,
          body: { audience: other, phase: "plan" },
        }),
      ).toBe("403 audience_not_allowed");
    const { token } = await tokenFor(runner, claimed, "plan", audience);
    expect(await verify(plane, token, audience)).toMatchObject({ aud: audience });
    for (const wrong of [
      { phase: "plan" },
      { audience: "", phase: "plan" },
      { audience, phase: "x" },
    ])
      expect(await runner.refusal("createIdentityToken", { params, body: wrong as never })).toBe(
        "400 invalid_request",
      );
  });

  it("is not given without such an identity, to another worker or to another attempt", async ({
    owner,
    otherOwner,
    client,
    runner,
  }) => {
    const role_arn = webIdentity.role_arn;
    const aws = { name: "aws", provider: "aws", role_arn } as const;
    const { configuration: configuration_id } = await configureWith(
      client,
      runner,
      owner.zone,
      aws,
    );
    const plain = await claimNew(client, runner, { job_type: "PLAN", configuration_id });
    const body = { audience: awsAudience, phase: "plan" } as const;
    const params = { id: plain.job.id };
    expect(await runner.refusal("createIdentityToken", { params, body })).toBe(
      "403 audience_not_allowed",
    );
    const second = await addTestWorker(plane, owner);
    const foreign = await addTestWorker(plane, otherOwner);
    expect(
      await callsOf(plane, second.headers).refusal("createIdentityToken", { params, body }),
    ).toBe("409 not_job_holder");
    expect(
      await callsOf(plane, foreign.headers).refusal("createIdentityToken", { params, body }),
    ).toBe("404 not_found");
    const headers = { ...second.headers, "x-job-attempt": "2" };
    expect(await callsOf(plane, headers).refusal("createIdentityToken", { params, body })).toBe(
      "409 not_job_holder",
    );
    const none = await ask(plane, "POST", `/api/jobs/${plain.job.id}/identity-token`, {
      json: body,
    });
    expect(none.status).toBe(401);
  });

  it("is bounded per job and minute", async ({ owner, client, runner }) => {
    const { configuration } = await configureWith(client, runner, owner.zone);
    const plan = await claimNew(client, runner, {
      job_type: "PLAN",
      configuration_id: configuration,
    });
    for (let n = 0; n < 60; n += 1) await tokenFor(runner, plan, "plan");
    const body = { audience: awsAudience, phase: "plan" } as const;
    const params = { id: plan.job.id };
    expect(await runner.refusal("createIdentityToken", { params, body })).toBe(
      "429 too_many_requests",
    );
  });

  it("names the pull request of a fork, the commit and the phase plan", async ({
    owner,
    client,
    runner,
  }) => {
    const { configuration } = await configureWith(client, runner, owner.zone);
    const { store } = plane.context;
    const connection = await client.call("createConnection", {
      body: { name: "git", kind: "forgejo", base_url: "https://git.invalid", credential: "t" },
    });
    const pull = await addPullRequest(store, {
      owner_id: owner.id,
      connection_id: connection.id,
      is_fork: 1,
      number: 17,
    });
    const claimed = await claimNew(client, runner, {
      job_type: "PLAN",
      configuration_id: configuration,
    });
    await addRows(store, "job_changes", {
      job_id: claimed.job.id,
      connection_id: connection.id,
      pull_request_id: pull.id,
      merged_request_id: null,
      spec_id: configuration,
      commit_id: "c".repeat(40),
      change: "{}",
      withheld: "[]",
      settings_hash: "",
      approved_job_id: null,
      posted_status: null,
      post_error: null,
      post_at: null,
    });
    const { token } = await tokenFor(runner, claimed, "plan");
    expect(await verify(plane, token)).toMatchObject({
      pull_request: 17,
      source_commit: "c".repeat(40),
      phase: "plan",
    });
    const params = { id: claimed.job.id };
    const body = { audience: awsAudience, phase: "apply" } as const;
    await setRows(plane, "jobs", { started_at: 1 }, { id: claimed.job.id });
    expect(await runner.refusal("createIdentityToken", { params, body })).toBe(
      "403 phase_not_allowed",
    );
  });

  it("carries session tags for AWS if the identity says so", async ({ owner, client, runner }) => {
    const tagged = { ...webIdentity, session_tags: true, subject: "zone" } as const;
    const { configuration } = await configureWith(client, runner, owner.zone, tagged);
    const plan = { job_type: "PLAN", configuration_id: configuration } as const;
    const claimed = await claimNew(client, runner, plan);
    const { token } = await tokenFor(runner, claimed, "plan");
    const claims = await verify(plane, token);
    expect(claims.sub).toBe(`person:${owner.id}:zone:zone:phase:plan`);
    expect(claims["https://aws.amazon.com/tags"]).toEqual({
      principal_tags: {
        space_id: [owner.id],
        zone_id: [owner.zone],
        configuration_id: [configuration],
        job_id: [claimed.job.id],
        job_type: ["PLAN"],
        phase: ["plan"],
      },
    });
  });
});

describe("the token of a deployment", () => {
  it("names who approved it, and the digest of its plan", async ({ worker, runner }) => {
    const user = await addTestUser(plane);
    const { slug, calls } = await addTeam(plane, user);
    const space = await readRow(plane, "teams", { slug });
    await setRows(plane, "workers", { owner_id: space.id }, { id: worker.id });
    const zone = await calls.call("createZone", { body: { name: "live" } });
    const { configuration: configuration_id } = await configureWith(
      calls,
      runner,
      zone.id,
      webIdentity,
    );
    await calls.call("updateConfiguration", {
      params: { name: configuration_id },
      body: { approval: { when: "always", count: 1, by_author: true } },
    });
    const plan = await claimNew(calls, runner, { job_type: "PLAN", configuration_id });
    await start(runner, plan);
    const id = plan.job.id;
    await ask(plane, "POST", `/api/jobs/${id}/plan-artifact`, {
      headers: { ...worker.headers, "content-type": "application/octet-stream" },
      body: "plan",
    });
    const digest = "d".repeat(64);
    await runner.call("reportStatus", {
      params: { id },
      body: {
        status: "SUCCESS",
        execution_metadata: { source_commit: "a".repeat(40) },
        plan_summary: { ...emptySummary, digest },
      },
    });
    const deploy = await calls.call("createJob", {
      body: { job_type: "DEPLOY", configuration_id, plan_job_id: id },
    });
    await calls.call("decideJob", { params: { id: deploy.id }, body: { decision: "approve" } });
    const claimed = await runner.call("claimJob", { query: {} });
    await start(runner, claimed);
    const { token } = await tokenFor(runner, claimed, "apply");
    expect(await verify(plane, token)).toMatchObject({
      sub: `team:${slug}:zone:live:configuration:network:phase:apply`,
      space_id: space.id,
      job_type: "DEPLOY",
      phase: "apply",
      source_commit: "a".repeat(40),
      plan_digest: digest,
      approved_by: [user.email],
    });
    await setRows(plane, "users", { email: `${user.email} (not verified)` }, { id: user.id });
    const without = await tokenFor(runner, claimed, "apply");
    expect((await verify(plane, without.token))["approved_by"]).toEqual([`person:${user.id}`]);
    // Clouds may trust the slug for longer than the team has it.
    const renamed = `${slug}-2`;
    await user.client.call("updateTeam", { params: { slug }, body: { slug: renamed } });
    const other = await addTestUser(plane);
    expect(await other.client.refusal("createTeam", { body: { name: "Other", slug } })).toBe(
      "409 name_taken",
    );
    const theirs = await addTeam(plane, other);
    expect(
      await other.client.refusal("updateTeam", { params: { slug: theirs.slug }, body: { slug } }),
    ).toBe("409 name_taken");
    await user.client.call("updateTeam", { params: { slug: renamed }, body: { slug } });
  });
});
