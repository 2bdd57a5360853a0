/**
 * An STS that is as strict as AWS where emulators are not: signer, role, trust policy with the
 * external id, session name, tags, tokens of an issuer and what a role binds of them, and the expiry
 * of what it has issued. Returns the XML of AWS.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { matchesGlob } from "node:path";
import { text } from "node:stream/consumers";
import { createRemoteJWKSet, errors, jwtVerify } from "jose";
import type { TrustPolicy } from "../../../protocol/cloud-identities.ts";

/** The identity of the agents, with the variables for an AWS SDK. */
export const caller = {
  arn: "arn:aws:iam::210987654321:user/windlass-agents",
  accessKeyId: "AKIAPLANTEDAGENTSOWN",
  environment: {
    AWS_ACCESS_KEY_ID: "AKIAPLANTEDAGENTSOWN",
    AWS_SECRET_ACCESS_KEY: "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",
    AWS_REGION: "eu-central-1",
  },
};

/** What the trust policy of a role binds of a token, and where the issuer's keys are. */
export interface TokenTrust {
  readonly issuer: string;
  readonly audience: string;
  /** As IAM's `StringLike`: `*` is any text. */
  readonly subject: string;
}

export interface StsRequest {
  readonly action: string;
  readonly role: string | null;
  readonly externalId: string | null;
  readonly session: string | null;
  readonly tags: Readonly<Record<string, string>>;
  /** `given`, or AWS's code of the refusal. */
  answer: string;
}

export interface IssuedCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** In milliseconds since 1970, by the clock of this machine. */
  readonly ends: number;
}

export interface StrictSts extends AsyncDisposable {
  readonly url: string;
  /** Trust policies by role. */
  readonly roles: Map<string, TrustPolicy>;
  /** The tokens with which a role may be assumed, by role. */
  readonly trusts: Map<string, TokenTrust>;
  readonly asked: StsRequest[];
  readonly given: IssuedCredentials[];
  /** The fault that replaces the response. */
  trouble: "throttled" | "down" | "silent" | undefined;
  /** How many seconds the issued credentials are valid. */
  life: number;
  /** How many milliseconds its clock is ahead of this machine's. */
  clockAhead: number;
}

/** Starts an STS on a free port. */
export async function startStrictSts(life = 3600): Promise<StrictSts> {
  const server = createServer((request, response) => void answer(sts, request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sts: StrictSts = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    roles: new Map(),
    trusts: new Map(),
    asked: [],
    given: [],
    trouble: undefined,
    life,
    clockAhead: 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return sts;
}

class StsError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function answer(
  sts: StrictSts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const form = new URLSearchParams(await text(request));
  const asked: StsRequest = {
    action: form.get("Action") ?? "",
    role: form.get("RoleArn"),
    externalId: form.get("ExternalId"),
    session: form.get("RoleSessionName"),
    tags: tagsOf(form),
    answer: sts.trouble ?? "given",
  };
  sts.asked.push(asked);
  response.setHeader("date", new Date(Date.now() + sts.clockAhead).toUTCString());
  if (sts.trouble === "down") return void request.socket.destroy();
  if (sts.trouble === "silent") return;
  try {
    if (sts.trouble === "throttled") throw new StsError(400, "Throttling", "Rate exceeded");
    const result = await resultOf(sts, request, asked, form.get("WebIdentityToken"));
    const name = `${asked.action}Response`;
    send(response, 200, `<${name} ${namespace}>${result}</${name}>`);
  } catch (error) {
    const { status, code, message } = error as StsError;
    asked.answer = code;
    const fault = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>`;
    send(response, status, `<ErrorResponse ${namespace}>${fault}</ErrorResponse>`);
  }
}

const namespace = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"';

const send = (response: ServerResponse, status: number, xml: string): void =>
  void response.writeHead(status, { "content-type": "text/xml" }).end(xml);

async function resultOf(
  sts: StrictSts,
  request: IncomingMessage,
  asked: StsRequest,
  token: string | null,
): Promise<string> {
  if (asked.action === "AssumeRoleWithWebIdentity") {
    if (request.headers.authorization !== undefined)
      throw new StsError(400, "ValidationError", "the test expects a call without a signature");
    return assumeByToken(sts, asked, token ?? "");
  }
  const who = signer(sts, request);
  return asked.action === "GetCallerIdentity" ? identity(who) : assume(sts, who, asked);
}

/** Verifies the token by the keys that its issuer publishes, with a library that nothing here shares. */
async function assumeByToken(sts: StrictSts, asked: StsRequest, token: string): Promise<string> {
  const trust = sts.trusts.get(asked.role ?? "");
  const denied = new StsError(
    403,
    "AccessDenied",
    "Not authorized to perform sts:AssumeRoleWithWebIdentity",
  );
  if (!trust || !asked.session) throw denied;
  const keys = createRemoteJWKSet(new URL(`${trust.issuer}/.well-known/jwks.json`));
  const { issuer, audience } = trust;
  const { payload } = await jwtVerify(token, keys, { issuer, audience }).catch((error: unknown) => {
    if (error instanceof errors.JWTExpired)
      throw new StsError(400, "ExpiredTokenException", "Token expired");
    throw new StsError(400, "InvalidIdentityToken", (error as Error).message);
  });
  if (!matchesGlob(payload.sub ?? "", trust.subject)) throw denied;
  return sessionXml(sts, "AssumeRoleWithWebIdentity");
}

/** Returns the ARN of the signer. A signature must be present; its value is not checked. */
function signer(sts: StrictSts, request: IncomingMessage): string {
  const key =
    /^AWS4-HMAC-SHA256 Credential=([A-Z0-9]+)\/\d{8}\/[a-z0-9-]+\/sts\/aws4_request, SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*, Signature=[0-9a-f]{64}$/.exec(
      request.headers.authorization ?? "",
    )?.[1];
  if (!key) throw new StsError(403, "MissingAuthenticationToken", "The request is not signed");
  if (key === caller.accessKeyId) return caller.arn;
  const given = sts.given.find(({ accessKeyId }) => accessKeyId === key);
  if (!given || request.headers["x-amz-security-token"] !== given.sessionToken)
    throw new StsError(403, "InvalidClientTokenId", "The security token is invalid");
  if (given.ends < Date.now())
    throw new StsError(403, "ExpiredToken", "The security token has expired");
  return "arn:aws:sts::123456789012:assumed-role/deployer/session";
}

const identity = (arn: string): string =>
  `<GetCallerIdentityResult><Arn>${arn}</Arn><UserId>AIDAX</UserId><Account>123456789012</Account></GetCallerIdentityResult>`;

function assume(sts: StrictSts, who: string, asked: StsRequest): string {
  const { role, externalId, session, tags } = asked;
  if (!role || !session || !/^[\w+=,.@-]{2,64}$/.test(session))
    throw new StsError(400, "ValidationError", "RoleArn and RoleSessionName are required");
  for (const [key, value] of Object.entries(tags)) {
    if (!/^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/u.test(key) || !value)
      throw new StsError(400, "ValidationError", `${key} is no tag`);
  }
  const { Statement = [] } = sts.roles.get(role) ?? {};
  const mayDo = (action: string, context: Record<string, string | null>): boolean =>
    Statement.some(
      (one) =>
        one.Action === action &&
        one.Principal.AWS === who &&
        Object.entries(one.Condition?.StringEquals ?? {}).every(([k, v]) => context[k] === v),
    );
  const denied = (action: string): StsError =>
    new StsError(
      403,
      "AccessDenied",
      `User: ${who} is not authorized to perform: ${action} on resource: ${role}`,
    );
  if (!mayDo("sts:AssumeRole", { "sts:ExternalId": externalId })) throw denied("sts:AssumeRole");
  if (Object.keys(tags).length > 0 && !mayDo("sts:TagSession", {})) throw denied("sts:TagSession");
  return sessionXml(sts, "AssumeRole");
}

function sessionXml(sts: StrictSts, action: string): string {
  const given: IssuedCredentials = {
    accessKeyId: `ASIA${randomBytes(8).toString("hex").toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString("base64"),
    sessionToken: randomBytes(300).toString("base64"),
    ends: Date.now() + sts.life * 1000,
  };
  sts.given.push(given);
  return (
    `<${action}Result><Credentials><AccessKeyId>${given.accessKeyId}</AccessKeyId>` +
    `<SecretAccessKey>${given.secretAccessKey}</SecretAccessKey><SessionToken>${given.sessionToken}</SessionToken>` +
    `<Expiration>${new Date(given.ends + sts.clockAhead).toISOString()}</Expiration></Credentials></${action}Result>`
  );
}

function tagsOf(form: URLSearchParams): Record<string, string> {
  const tags: Record<string, string> = {};
  for (let index = 1; form.has(`Tags.member.${index}.Key`); index++) {
    tags[form.get(`Tags.member.${index}.Key`) ?? ""] = form.get(`Tags.member.${index}.Value`) ?? "";
  }
  return tags;
}
