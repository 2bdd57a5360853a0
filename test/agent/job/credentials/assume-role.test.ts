/** The real AWS SDK against a strict STS. */
import { createServer } from "node:http";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { roleAssumer, type Role } from "../../../../agent/job/credentials/assume-role.ts";
import { IdentityRefusedError } from "../../../../agent/job/credentials/identity-errors.ts";
import { caller, startStrictSts, type StrictSts } from "../../../helpers/agent/strict-sts.ts";
import { listen } from "../../../helpers/network/listen.ts";

const arn = "arn:aws:iam::123456789012:role/deployer";
const role: Role = { arn, externalId: "e-1", session: "job-1", tags: { "windlass:job": "job-1" } };
const policy = (Condition?: { StringEquals: { "sts:ExternalId": string } }) => ({
  Version: "2012-10-17",
  Statement: [
    {
      Effect: "Allow",
      Principal: { AWS: caller.arn },
      Action: "sts:AssumeRole",
      ...(Condition ? { Condition } : {}),
    },
    { Effect: "Allow", Principal: { AWS: caller.arn }, Action: "sts:TagSession" },
  ],
});

let sts: StrictSts;
beforeEach(async () => {
  sts = await startStrictSts();
  sts.roles.set(arn, policy({ StringEquals: { "sts:ExternalId": "e-1" } }));
  const own = { ...caller.environment, AWS_ENDPOINT_URL_STS: sts.url };
  // AWS settings of this machine must not take effect.
  for (const name of Object.keys(process.env).filter((one) => one.startsWith("AWS_")))
    vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries(own)) vi.stubEnv(name, value);
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
  vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await sts[Symbol.asyncDispose]();
});

const never = new AbortController().signal;
const assume = (change: Partial<Role> = {}, network: Record<string, string> = {}) =>
  roleAssumer({ ...role, ...change }, { aws: {}, network })(never);
const refusal = async (change: Partial<Role> = {}): Promise<string> => {
  const error: unknown = await assume(change).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(IdentityRefusedError);
  return (error as Error).message;
};

test("taking on a role uses the agent's credentials and returns the lifetime of the session", async () => {
  const given = await assume();
  expect(given).toMatchObject({ accessKeyId: sts.given[0]?.accessKeyId });
  expect(given.life).toBeGreaterThan(3_590_000);
  expect(given.life).toBeLessThan(3_601_000);
});

test("a role without an external id can be taken on, and null values are not sent as tags", async () => {
  sts.roles.set(arn, policy());
  await assume({ externalId: undefined, tags: { "windlass:job": "j", "windlass:zone": null } });
  expect(sts.asked).toMatchObject([{ externalId: null, tags: { "windlass:job": "j" } }]);
});

test.each([
  [
    "that does not exist",
    { arn: "arn:aws:iam::123456789012:role/missing" },
    /role\/missing with .* AccessDenied/,
  ],
  [
    "with another external id",
    { externalId: "e-2" },
    /the external id e-2: AccessDenied: User: arn:.*sts:AssumeRole/,
  ],
  ["without an external id", { externalId: undefined }, /the external id \(none\): AccessDenied/],
  ["with an invalid session name", { session: "no blanks" }, /ValidationError/],
])("a role %s is refused with the reason, and not retried", async (_, change, message) => {
  expect(await refusal(change)).toMatch(message);
  expect(sts.asked).toHaveLength(1);
});

test("missing or unknown AWS credentials of the agent are named in the error", async () => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIAUNKNOWN");
  expect(await refusal()).toMatch(
    /InvalidClientTokenId.*The agent's own AWS credentials are not valid/,
  );
  vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
  expect(await refusal()).toMatch(
    /no AWS credentials of its own with which to assume the role arn/,
  );
});

test.each(["throttled", "down"] as const)(
  "a %s STS causes an error that can be retried",
  async (trouble) => {
    sts.trouble = trouble;
    const error = await assume().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(IdentityRefusedError);
    expect(sts.asked).toHaveLength(1);
  },
);

test("STS is reached through the proxy of the network", async () => {
  vi.stubEnv("AWS_ENDPOINT_URL_STS", "http://sts.invalid");
  // The strict STS serves as the proxy, which gets requests with absolute addresses.
  await assume({}, { HTTP_PROXY: sts.url });
  expect(sts.asked).toHaveLength(1);
});

test.each([
  ["aws", "sts.us-east-1.amazonaws.com:443"],
  ["aws-cn", "sts.cn-north-1.amazonaws.com.cn:443"],
  ["aws-us-gov", "sts.us-gov-west-1.amazonaws.com:443"],
])("without a region, a role of the partition %s is requested at %s", async (partition, where) => {
  vi.stubEnv("AWS_REGION", undefined);
  vi.stubEnv("AWS_ENDPOINT_URL_STS", undefined);
  const proxy = createServer();
  await using listening = await listen(proxy);
  const connected: (string | undefined)[] = [];
  proxy.on("connect", ({ url }, socket) => {
    connected.push(url);
    socket.destroy();
  });
  const there = { arn: `arn:${partition}:iam::123456789012:role/x` };
  await expect(assume(there, { HTTPS_PROXY: listening.url })).rejects.toThrow("proxy tunnel ended");
  expect(connected).toEqual([where]);
});

test("a clock of STS that is hours off does not change the lifetime", async () => {
  for (const hours of [2, -2]) {
    sts.clockAhead = hours * 3_600_000;
    const { life } = await assume();
    expect(life).toBeGreaterThan(3_590_000);
    expect(life).toBeLessThan(3_602_000);
  }
});
