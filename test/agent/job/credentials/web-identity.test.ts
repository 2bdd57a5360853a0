/** The real AWS SDK against an STS that verifies tokens. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { IdentityRefusedError } from "../../../../agent/job/credentials/identity-errors.ts";
import { webIdentityAssumer } from "../../../../agent/job/credentials/web-identity.ts";
import { startStrictSts, type StrictSts } from "../../../helpers/agent/strict-sts.ts";
import { startTokenIssuer, type TokenIssuer } from "../../../helpers/agent/token-issuer.ts";

const arn = "arn:aws:iam::123456789012:role/deployer";
const audience = "sts.amazonaws.com";
const subject = "team:acme:zone:live:configuration:one:phase:apply";

let sts: StrictSts;
let issuer: TokenIssuer;
beforeEach(async () => {
  [sts, issuer] = await Promise.all([startStrictSts(), startTokenIssuer()]);
  sts.trusts.set(arn, { issuer: issuer.url, audience, subject });
  for (const name of Object.keys(process.env).filter((one) => one.startsWith("AWS_")))
    vi.stubEnv(name, undefined);
  // Credentials of the machine, which must not be used.
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIAOFTHEMACHINE");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret-of-the-machine");
  vi.stubEnv("AWS_ENDPOINT_URL_STS", sts.url);
  vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
  vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await sts[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

const never = new AbortController().signal;
/** The token of a job of this issuer. */
const tokenOf = (phase = "apply", of = audience): string =>
  issuer.sign({ aud: of, sub: `team:acme:zone:live:configuration:one:phase:${phase}` });
const assume = (token = tokenOf()) =>
  webIdentityAssumer({ arn, session: "job-1" }, async () => token, { aws: {}, network: {} })(never);
async function refusal(token?: string): Promise<string> {
  const error: unknown = await assume(token).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(IdentityRefusedError);
  return (error as Error).message;
}

test("a role is assumed with the job's token, without credentials of the machine", async () => {
  const given = await assume();
  expect(given).toMatchObject({ accessKeyId: sts.given[0]?.accessKeyId });
  expect(given.life).toBeGreaterThan(3_590_000);
  expect(sts.asked).toEqual([
    expect.objectContaining({
      action: "AssumeRoleWithWebIdentity",
      role: arn,
      session: "job-1",
      answer: "given",
    }),
  ]);
});

test("each refusal says what the token claims and what to check, without the token", async () => {
  const [wrongPhase, wrongAudience] = [tokenOf("plan"), tokenOf("apply", "elsewhere")];
  expect(await refusal(wrongPhase)).toBe(
    `AWS refused the token for the role ${arn} (subject team:acme:zone:live:configuration:one:phase:plan, audience ${audience}, issuer ${issuer.url}): ` +
      "AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity. " +
      "Check that the role exists, and that its trust policy allows sts:AssumeRoleWithWebIdentity to the identity provider of this issuer with exactly this audience and this subject; " +
      "windlass identities trust-policy NAME prints what it must trust",
  );
  const said = await refusal(wrongAudience);
  expect(said).toContain("InvalidIdentityToken");
  expect(said).toContain("Check that the account has an OIDC identity provider for this issuer");
  issuer.life = -60;
  const late = tokenOf();
  expect(await refusal(late)).toContain("Check the clock of the control plane");
  for (const token of [wrongPhase, wrongAudience, late])
    expect(`${said}${await refusal(token)}`).not.toContain(token);
});

test("a failure that passes is no refusal", async () => {
  for (const trouble of ["throttled", "down"] as const) {
    sts.trouble = trouble;
    const error: unknown = await assume().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(IdentityRefusedError);
  }
});
