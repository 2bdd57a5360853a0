/** Tokens of the issuer at a real OpenBao that is set up as the terraform of the identity says. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lackOfOpenBao, startOpenBao, type OpenBao } from "../helpers/agent/open-bao.ts";
import { claimNew, configureWith, start, tokenFor } from "../helpers/plane/identity-tokens.ts";
import { addTestUser } from "../helpers/people/user.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { addTestWorker } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { skipAt } from "../helpers/project/tools.ts";

skipAt(lackOfOpenBao);
const { plane } = planeForFile();

let bao: OpenBao;
beforeAll(async () => {
  if (lackOfOpenBao !== undefined) return;
  bao = await startOpenBao();
  for (const phase of ["plan", "apply"]) {
    await bao.call("POST", `secret/data/${phase}`, { data: { value: `secret of ${phase}` } });
    await bao.call("POST", `sys/policies/acl/windlass-${phase}`, {
      policy: `path "secret/data/${phase}" { capabilities = ["read"] }`,
    });
  }
});
afterAll(() => bao?.[Symbol.asyncDispose]());

/** What the printed resources of a type set: names and texts, lists and maps of texts. */
function resourcesIn(terraform: string, type: string): Record<string, unknown>[] {
  const found = terraform.matchAll(new RegExp(`^resource "${type}" "\\w+" {\\n([^]*?)^}`, "gm"));
  return [...found].map(([, body = ""]) => {
    const maps = [...body.matchAll(/^ {2}(\w+) += {\n([^]*?)^ {2}}/gm)].map(
      ([, name, inner = ""]) => [name, textsIn(inner)],
    );
    const lists = [...body.matchAll(/^ {2}(\w+) += (\[.*\])$/gm)].map(([, name, list = ""]) => [
      name,
      JSON.parse(list),
    ]);
    const plain = body.replaceAll(/^ {2}\w+ += {\n[^]*?^ {2}}/gm, "");
    return { ...textsIn(plain), ...Object.fromEntries([...maps, ...lists]) };
  });
}

const textsIn = (body: string): Record<string, string> =>
  Object.fromEntries(
    [...body.matchAll(/^ +(\w+) += (".*")$/gm)].map(([, name = "", text = ""]) => [
      name,
      JSON.parse(text) as string,
    ]),
  );

/** Sets up the method and its roles. The provider of Vault makes a list of a text with commas. */
async function setUp(terraform: string, mount: string): Promise<void> {
  const [backend] = resourcesIn(terraform, "vault_jwt_auth_backend");
  expect(backend).toMatchObject({ path: mount, bound_issuer: plane.url });
  const calls: [path: string, body: object][] = [
    [`sys/auth/${mount}`, { type: "jwt" }],
    [
      `auth/${mount}/config`,
      {
        oidc_discovery_url: backend?.["oidc_discovery_url"],
        bound_issuer: backend?.["bound_issuer"],
      },
    ],
    ...resourcesIn(terraform, "vault_jwt_auth_backend_role").map((role): [string, object] => {
      const claims = Object.entries(role["bound_claims"] as Record<string, string>);
      return [
        `auth/${mount}/role/${String(role["role_name"])}`,
        {
          ...role,
          bound_claims: Object.fromEntries(claims.map(([name, text]) => [name, text.split(",")])),
        },
      ];
    }),
  ];
  for (const [path, body] of calls) {
    const [status, answer] = await bao.call("POST", path, body);
    expect([path, status, answer]).toEqual([path, status < 300 ? status : "below 300", answer]);
  }
}

/** Signs in, and returns which secrets the token reads; the status of a refused sign-in. */
async function secretsOf(mount: string, role: string, jwt: string): Promise<string[] | number> {
  const login = await fetch(`${bao.url}/v1/auth/${mount}/login`, {
    method: "POST",
    body: JSON.stringify({ role, jwt }),
  });
  if (!login.ok) return login.status;
  const { auth } = (await login.json()) as { auth: { client_token: string } };
  const read = async (name: string) => {
    const headers = { "x-vault-token": auth.client_token };
    return (await fetch(`${bao.url}/v1/secret/data/${name}`, { headers })).ok ? [name] : [];
  };
  return [...(await read("plan")), ...(await read("apply"))];
}

describe("OpenBao, set up by the terraform of an identity", () => {
  it("gives each phase its secrets, to the configurations that it names and to no others", async () => {
    const { owner, client } = await addTestUser(plane);
    const runner = callsOf(plane, (await addTestWorker(plane, owner)).headers);
    const mount = "windlass";
    const vault = { name: "vault", provider: "vault", address: bao.url, mount } as const;
    const roles = { role: "apply", plan_role: "plan" };
    const { identity, configuration: configuration_id } = await configureWith(
      client,
      runner,
      owner.zone,
      { ...vault, ...roles },
    );
    const params = { id: identity };
    await setUp((await client.call("getTrustTerraform", { params })).terraform, mount);
    const plan = await claimNew(client, runner, { job_type: "PLAN", configuration_id });
    await start(runner, plan);
    const planned = (await tokenFor(runner, plan, "plan", bao.url)).token;
    expect(await secretsOf(mount, "plan", planned)).toEqual(["plan"]);
    expect(await secretsOf(mount, "apply", planned)).toBe(400);
    const over = { status: "FAILED" } as const;
    await runner.call("reportStatus", { params: { id: plan.job.id }, body: over });
    const deploy = await claimNew(client, runner, { job_type: "DEPLOY", configuration_id });
    await start(runner, deploy);
    const applied = (await tokenFor(runner, deploy, "apply", bao.url)).token;
    expect(await secretsOf(mount, "apply", applied)).toEqual(["apply"]);
    expect(await secretsOf(mount, "plan", applied)).toBe(400);
    const changed = applied.replace(/\.[^.]+$/, `.${planned.split(".")[2]}`);
    expect(await secretsOf(mount, "apply", changed)).toBe(400);
    await runner.call("reportStatus", { params: { id: deploy.job.id }, body: over });
    // One that got the identity later.
    const other = await client.call("createConfiguration", {
      body: {
        name: "later",
        zone_id: owner.zone,
        cloud_identity_id: identity,
        source: { type: "inline", files: { "main.tf": "" } },
      },
    });
    const later = await claimNew(client, runner, {
      job_type: "DEPLOY",
      configuration_id: other.id,
    });
    await start(runner, later);
    const { token } = await tokenFor(runner, later, "apply", bao.url);
    expect(await secretsOf(mount, "apply", token)).toBe(400);
    // With the terraform that names it too, at another mount.
    const next = "windlass-2";
    await client.call("updateCloudIdentity", { params, body: { mount: next } });
    await setUp((await client.call("getTrustTerraform", { params })).terraform, next);
    expect(await secretsOf(next, "apply", token)).toEqual(["apply"]);
    // The example of the page: only what ada has approved.
    await bao.call("POST", `auth/${mount}/role/approved`, {
      role_type: "jwt",
      user_claim: "configuration_id",
      bound_audiences: [bao.url],
      bound_claims: { approved_by: "ada@example.com" },
      token_policies: ["windlass-apply"],
    });
    expect(await secretsOf(mount, "approved", token)).toBe(400);
  });
});
