/** Jobs that sign in with tokens of their own, with a real agent, terraform and OpenBao. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ended, startInterfaceOnlyServer } from "../helpers/agent/interface-only-server.ts";
import type { InterfaceOnlyServer, PlainJob } from "../helpers/agent/interface-only-server.ts";
import { startAgent, until } from "../helpers/agent/agent-process.ts";
import { levelsHere, skipAbsentLevels } from "../helpers/agent/isolation.ts";
import {
  lackOfOpenBao,
  startOpenBao,
  trustIssuer,
  type OpenBao,
} from "../helpers/agent/open-bao.ts";
import { startTellingJobs, type TellingJobs } from "../helpers/agent/telling-jobs.ts";
import { startStrictSts } from "../helpers/agent/strict-sts.ts";
import { startTokenIssuer, type TokenIssuer } from "../helpers/agent/token-issuer.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import { skipAt } from "../helpers/project/tools.ts";

const { working, lacking } = await levelsHere();
skipAbsentLevels(lacking);
const strongest = working.at(-1) ?? "process";
const place = folderForFile();
/** How long Vault's tokens are valid, unless they are renewed. */
const vaultSeconds = 12;

let telling: TellingJobs;
let issuer: TokenIssuer;
let bao: OpenBao | undefined;
const open = new AsyncDisposableStack();
beforeAll(async () => {
  telling = open.use(await startTellingJobs());
  issuer = open.use(await startTokenIssuer());
  if (lackOfOpenBao !== undefined) return;
  bao = open.use(await startOpenBao());
  await trustIssuer(bao, issuer.url, `${vaultSeconds}s`);
});
afterAll(() => open.disposeAsync());

const tell = (words: string): string => telling.tell(words);
const toldOf = (what: string): string[] => telling.toldOf(what);
const source = (plan: string, apply: string): object => telling.source(plan, apply);

interface Fixture extends AsyncDisposable {
  readonly server: InterfaceOnlyServer;
  readonly work: string;
  agent: ReturnType<typeof startAgent>;
  restart(): void;
}

let works = 0;
async function openFixture(level: string, more: Record<string, string> = {}): Promise<Fixture> {
  const server = await startInterfaceOnlyServer();
  issuer.serve(server);
  issuer.fault = undefined;
  issuer.life = 600;
  const work = join(place, `work-${++works}`);
  const start = () =>
    startAgent({
      ...server.settings,
      WINDLASS_WORK_DIR: work,
      WINDLASS_ISOLATION: level,
      WINDLASS_CONCURRENCY: "2",
      ...more,
    });
  const fixture: Fixture = {
    server,
    work,
    agent: start(),
    restart() {
      fixture.agent = start();
    },
    [Symbol.asyncDispose]: async () => {
      await fixture.agent[Symbol.asyncDispose]();
      await until(() => processesOf(join(work, "credentials")).length === 0);
      await server[Symbol.asyncDispose]();
    },
  };
  return fixture;
}

/** Waits for what a running job does. */
const during = <T>(job: PlainJob, what: () => T | false | undefined): Promise<T> =>
  until(() => {
    const found = what();
    if (found === undefined || found === false)
      expect(job.reports.filter(({ status }) => status !== "PROCESSING")).toEqual([]);
    return found;
  });

/** Ends an apply that waits for the file `stop`. */
async function endLoop({ work }: Fixture, job: PlainJob): Promise<void> {
  writeFileSync(join(work, "workspaces", job.id, "source", "stop"), "");
  expect((await ended(job)).reports.at(-1)).toMatchObject({ status: "SUCCESS" });
  await until(() => processesOf(join(work, "credentials")).length === 0);
}

const wholeLog = (server: InterfaceOnlyServer, job: PlainJob): string =>
  ["SYSTEM", "STDOUT", "STDERR"].map((stream) => server.log(job, stream)).join("");

const readSecrets = (name: string): string => telling.readSecrets(name);

const vaultIdentity = (url: string, more = {}) => ({
  provider: "vault",
  address: url,
  mount: "jwt",
  audience: url,
  role: "apply",
  plan_role: "plan",
  ...more,
});

describe("with Vault", () => {
  skipAt(lackOfOpenBao);

  test.each(working)(
    "at level %s, each phase has a token of its own role, which is renewed, survives the agent and is revoked",
    async (level) => {
      await using here = await openFixture(level);
      const { server, work } = here;
      const name = `vault-${level}`;
      const { url } = bao!;
      const job = server.enqueue({
        job_type: "DEPLOY",
        config_snapshot: {
          source: source(
            readSecrets(`${name}-plan`),
            `${readSecrets(`${name}-apply`)}\n echo told $(cat ~/.vault-token)\n while [ ! -e stop ]; do sleep 0.2; done\n${readSecrets(`${name}-late`)}`,
          ),
          environment: { VAULT_TOKEN: "of-the-configuration", BAO_ADDR: "http://127.0.0.1:9" },
        },
        cloud_identity: vaultIdentity(url),
      });
      await during(job, () => toldOf(`${name}-apply`).length > 0);
      here.agent.kill("SIGKILL");
      await here.agent.exited;
      const allArguments = readdirSync("/proc")
        .filter((pid) => /^\d+$/.test(pid))
        .map((pid) => {
          try {
            return readFileSync(`/proc/${pid}/cmdline`, "utf8");
          } catch {
            return "";
          }
        });
      here.restart();
      const appliedToken = toldOf(`${name}-apply`)[0]?.split(" ").at(-1) ?? "";
      // Renewed by the second agent, it outlives its first seconds.
      await sleep(1000 * (vaultSeconds + 2));
      expect(await bao!.knows(appliedToken)).toBe(true);
      await endLoop(here, job);
      const [plan = [], apply = [], late = []] = ["plan", "apply", "late"].map((phase) =>
        (toldOf(`${name}-${phase}`)[0] ?? "").split(" ").slice(1),
      );
      expect(plan.slice(0, 3)).toEqual(["200", "403", "600"]);
      expect(apply.slice(0, 3)).toEqual(["403", "200", "600"]);
      expect(late).toEqual(apply);
      const log = wholeLog(server, job);
      for (const [, , , token = ""] of [plan, apply]) {
        expect(token).toMatch(/^[hs]\S{10,}/);
        expect(await bao!.knows(token)).toBe(false);
        expect(log).not.toContain(token);
        expect(allArguments.join("\n")).not.toContain(token);
      }
      for (const { token } of issuer.issued) expect(log).not.toContain(token);
      expect(log).toContain("told ***");
      expect(log).toContain("of Vault at");
      expect(log).toContain(
        "what the environment of the configuration sets: VAULT_TOKEN, BAO_ADDR",
      );
      await until(() => readdirSync(join(work, "workspaces")).length === 0);
    },
  );

  test("a PLAN has the plan's role only, and a wrong role fails before terraform starts", async () => {
    await using here = await openFixture(strongest);
    const { server } = here;
    const { url } = bao!;
    const planned = server.enqueue({
      job_type: "PLAN",
      config_snapshot: { source: source(readSecrets("plan-only"), "true") },
      cloud_identity: vaultIdentity(url),
    });
    await ended(planned);
    expect(toldOf("plan-only")[0]).toMatch(/^plan-only 200 403 600 /);
    expect(issuer.issued.filter(({ job }) => job === planned.id).map((one) => one.phase)).toEqual([
      "plan",
    ]);
    const refused = server.enqueue({
      job_type: "PLAN",
      config_snapshot: { source: source("true", "true") },
      cloud_identity: vaultIdentity(url, { plan_role: "apply" }),
    });
    const [end] = (await ended(refused)).reports.slice(-1);
    expect(end).toMatchObject({ status: "FAILED" });
    expect(end?.["error_message"]).toMatch(
      new RegExp(
        `^credentials: Vault refused the token for the role apply of Vault at ${url}, mount jwt \\(subject \\S+:phase:plan, audience ${url}, issuer ${issuer.url}\\): 400 `,
      ),
    );
    expect(end?.["error_message"]).toContain("windlass identities trust-policy NAME");
    for (const { token } of issuer.issued) expect(end?.["error_message"]).not.toContain(token);
  });
});

const gcp = {
  provider: "gcp",
  workload_identity_provider:
    "projects/123456789012/locations/global/workloadIdentityPools/windlass/providers/windlass",
  audience:
    "//iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/windlass/providers/windlass",
  service_account: "deploy@acme.iam.gserviceaccount.com",
  plan_service_account: "plan@acme.iam.gserviceaccount.com",
};
const azure = {
  provider: "azure",
  tenant_id: "11111111-2222-4333-8444-555555555555",
  client_id: "22222222-2222-4333-8444-555555555555",
  plan_client_id: "33333333-2222-4333-8444-555555555555",
  audience: "api://AzureADTokenExchange",
};

const askAzure = (name: string): string =>
  `answer=$(printf 'header = "Authorization: Bearer %s"\\n' "$ARM_OIDC_REQUEST_TOKEN" | curl -s -K - "$ARM_OIDC_REQUEST_URL")
  ${tell(`${name} $ARM_CLIENT_ID $ARM_USE_OIDC $ARM_TENANT_ID $answer`)}`;
const askGoogle = (name: string): string =>
  `file=$(tr -d '\\n ' < $GOOGLE_APPLICATION_CREDENTIALS)
  url=$(printf %s "$file" | sed 's/.*"url":"\\([^"]*\\)".*/\\1/')
  secret=$(printf %s "$file" | sed 's/.*"Authorization":"Bearer\\([^"]*\\)".*/\\1/')
  answer=$(printf 'header = "Authorization: Bearer %s"\\n' "$secret" | curl -s -K - "$url")
  ${tell(`${name} $file $(stat -c %a $GOOGLE_APPLICATION_CREDENTIALS) $answer`)}`;

/** Verifies the token of an answer with the keys that its issuer publishes. */
async function claimsIn(answer: string, audience: string) {
  const { value } = JSON.parse(answer) as { value: string };
  const keys = createRemoteJWKSet(new URL(`${issuer.url}/.well-known/jwks.json`));
  return (await jwtVerify(value, keys, { audience, issuer: issuer.url })).payload;
}

describe.each(working)("at level %s", (level) => {
  test("Google's and Azure's libraries find the token of the job and phase", async () => {
    await using here = await openFixture(level);
    const { server } = here;
    const jobs = [
      { identity: azure, ask: askAzure, name: `azure-${level}` },
      { identity: gcp, ask: askGoogle, name: `gcp-${level}` },
    ].map(({ identity, ask, name }) => ({
      name,
      job: server.enqueue({
        job_type: "DEPLOY",
        config_snapshot: {
          source: source(ask(`${name}-plan`), `${ask(`${name}-apply`)}\necho "$answer"`),
        },
        cloud_identity: identity,
      }),
    }));
    for (const { job, name } of jobs) {
      expect((await ended(job)).reports.at(-1)).toMatchObject({ status: "SUCCESS" });
      for (const phase of ["plan", "apply"] as const) {
        const told = (toldOf(`${name}-${phase}`)[0] ?? "").split(" ").slice(1);
        const isGoogle = name.startsWith("gcp");
        const answer = told.at(-1) ?? "";
        const { audience } = isGoogle ? gcp : azure;
        expect(await claimsIn(answer, audience)).toMatchObject({
          sub: issuer.subjectOf(job.id, phase),
        });
        if (isGoogle) {
          expect(told[1]).toBe("600");
          expect(JSON.parse(told[0] ?? "")).toMatchObject({
            type: "external_account",
            audience: gcp.audience,
            service_account_impersonation_url: `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${phase === "plan" ? gcp.plan_service_account : gcp.service_account}:generateAccessToken`,
          });
        } else
          expect(told.slice(0, 3)).toEqual([
            phase === "plan" ? azure.plan_client_id : azure.client_id,
            "true",
            azure.tenant_id,
          ]);
      }
      const log = wholeLog(server, job);
      expect(log).toContain('{"value":"***"}');
      for (const { token } of issuer.issued) expect(log).not.toContain(token);
    }
  });
});

test("a role of AWS is assumed with the token of each phase, without credentials of the machine", async () => {
  await using sts = await startStrictSts();
  const audience = "sts.amazonaws.com";
  const [role_arn, plan_role_arn] = ["deploy", "plan"].map(
    (name) => `arn:aws:iam::123456789012:role/${name}`,
  );
  await using here = await openFixture(strongest, {
    AWS_ENDPOINT_URL_STS: sts.url,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "AKIAOFTHEMACHINE",
    AWS_SECRET_ACCESS_KEY: "secret-of-the-machine",
  });
  const { server } = here;
  const ask = (name: string): string =>
    tell(
      `${name} $(printf 'header = "Authorization: %s"\\n' "$AWS_CONTAINER_AUTHORIZATION_TOKEN" | curl -s -K - $AWS_CONTAINER_CREDENTIALS_FULL_URI)`,
    );
  const job = server.enqueue({
    job_type: "DEPLOY",
    config_snapshot: { source: source(ask("aws-plan"), ask("aws-apply")) },
    cloud_identity: { provider: "aws_web_identity", role_arn, plan_role_arn, audience },
  });
  for (const [arn, phase] of [
    [plan_role_arn, "plan"],
    [role_arn, "apply"],
  ])
    sts.trusts.set(arn!, {
      issuer: issuer.url,
      audience,
      subject: issuer.subjectOf(job.id, phase!),
    });
  expect((await ended(job)).reports.at(-1)).toMatchObject({ status: "SUCCESS" });
  expect(sts.asked.map(({ action, role, answer }) => [action, role, answer])).toEqual([
    ["AssumeRoleWithWebIdentity", plan_role_arn, "given"],
    ["AssumeRoleWithWebIdentity", role_arn, "given"],
  ]);
  for (const [n, phase] of ["plan", "apply"].entries())
    expect(toldOf(`aws-${phase}`)[0]).toContain(sts.given[n]!.accessKeyId);
});

test("while the control plane is away, a job has its token until that ends, then the reason, and later a new one", async () => {
  await using here = await openFixture(strongest);
  const { server } = here;
  issuer.life = 8;
  const job = server.enqueue({
    job_type: "DEPLOY",
    config_snapshot: {
      source: source("true", `while [ ! -e stop ]; do ${askAzure("away")}\nsleep 0.5; done`),
    },
    cloud_identity: azure,
  });
  const answers = (): string[] => toldOf("away").map((one) => one.split(" ").slice(4).join(" "));
  await during(job, () => answers().length > 0);
  issuer.fault = { status: 503, text: "" };
  await until(() => answers().some((one) => one.includes("NoCredentials")));
  expect(answers()[0]).toContain('"value"');
  expect(answers().find((one) => one.includes("NoCredentials"))).toContain(
    "the agent has no credentials: the control plane gives this job no token for the audience api://AzureADTokenExchange: 503",
  );
  issuer.fault = undefined;
  const before = answers().length;
  await until(() =>
    answers()
      .slice(before)
      .some((one) => one.includes('"value"')),
  );
  await endLoop(here, job);
  // These lines come after the output of the command.
  for (const text of ["no credentials; trying again: ", "credentials again"])
    expect(server.log(job, "SYSTEM")).toContain(`The control plane returns ${text}`);
});

test("a job gets nothing at the port of another job, and no token of another audience", async () => {
  await using here = await openFixture(strongest);
  const { server, work } = here;
  const victim = server.enqueue({
    job_type: "DEPLOY",
    config_snapshot: { source: source("true", "while [ ! -e stop ]; do sleep 0.1; done") },
    cloud_identity: azure,
  });
  const journal = join(work, "jobs", victim.id, "journal.ndjson");
  const port = await until(
    () =>
      existsSync(journal) &&
      /"at":"endpoint","address":\{"port":(\d+)/.exec(readFileSync(journal, "utf8"))?.[1],
  );
  const get = (url: string): string =>
    `$(printf 'header = "Authorization: Bearer %s"\\n' "$ARM_OIDC_REQUEST_TOKEN" | curl -s -K - -o /dev/null -w '%{http_code}' "${url}")`;
  const thief = server.enqueue({
    job_type: "DEPLOY",
    config_snapshot: {
      source: source(
        "true",
        tell(
          `thief ${get(`http://127.0.0.1:${port}/token`)} ${get("${ARM_OIDC_REQUEST_URL%%\\?*}?audience=sts.amazonaws.com")} ${get("$ARM_OIDC_REQUEST_URL")}`,
        ),
      ),
    },
    cloud_identity: azure,
  });
  await ended(thief);
  expect(toldOf("thief")).toEqual(["thief 403 403 200"]);
  await endLoop(here, victim);
});

test("without a token for its audience, a job fails with the reason of the control plane", async () => {
  await using here = await openFixture(strongest);
  issuer.fault = {
    status: 409,
    text: JSON.stringify({
      title: "too long",
      status: 409,
      code: "subject_too_long",
      detail: "The subject would have 300 characters",
    }),
  };
  const job = here.server.enqueue({
    job_type: "PLAN",
    config_snapshot: { source: source("true", "true") },
    cloud_identity: azure,
  });
  expect((await ended(job)).reports.at(-1)).toMatchObject({
    status: "FAILED",
    error_message: expect.stringMatching(
      /^credentials: the control plane gives this job no token for the audience api:\/\/AzureADTokenExchange: 409 subject_too_long /,
    ),
  });
});
