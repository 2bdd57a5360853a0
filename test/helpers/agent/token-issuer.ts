/**
 * Signs tokens of jobs as the control plane does, and serves its keys, for tests of the agent
 * without a control plane.
 */
import { createPublicKey, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer } from "node:http";
import { listen } from "../network/listen.ts";
import type { InterfaceOnlyServer, Reply } from "./interface-only-server.ts";

export interface IssuedToken {
  readonly job: string;
  readonly audience: string;
  readonly phase: string;
  readonly token: string;
}

export interface TokenIssuer extends AsyncDisposable {
  readonly url: string;
  /** All that it has signed. */
  readonly issued: IssuedToken[];
  /** How many seconds its tokens are valid. */
  life: number;
  /** Replaces the answer, such as while the control plane is away. */
  fault: Reply | undefined;
  /** Signs what the jobs of this server ask for. */
  serve(server: InterfaceOnlyServer): void;
  subjectOf(job: string, phase: string): string;
  /** Signs these claims, with the others that a token has. */
  sign(claims: { readonly aud: string; readonly sub: string }): string;
}

const problem = (status: number, code: string, detail: string): Reply => ({
  status,
  text: JSON.stringify({ type: "about:blank", title: code, status, detail, code }),
});

/** Starts it on a free port. */
export async function startTokenIssuer(): Promise<TokenIssuer> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const kid = randomUUID();
  const key = createPublicKey(privateKey).export({ format: "jwk" });
  const server = createServer((request, response) => {
    const answers: Record<string, object> = {
      "/.well-known/openid-configuration": {
        issuer: url,
        jwks_uri: `${url}/.well-known/jwks.json`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      },
      "/.well-known/jwks.json": { keys: [{ ...key, kid, use: "sig", alg: "RS256" }] },
    };
    const answer = answers[request.url ?? ""];
    response.writeHead(answer ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? {}));
  });
  const { url, [Symbol.asyncDispose]: close } = await listen(server);
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const now = (): number => Math.floor(Date.now() / 1000);
  const tokenOf = (claims: object): string => {
    const content = `${encode({ alg: "RS256", typ: "JWT", kid })}.${encode(claims)}`;
    return `${content}.${sign("sha256", Buffer.from(content), privateKey).toString("base64url")}`;
  };
  const issuer: TokenIssuer = {
    url,
    issued: [],
    life: 600,
    fault: undefined,
    subjectOf: (job, phase) => `team:acme:zone:live:configuration:${job}:phase:${phase}`,
    sign: (claims) =>
      tokenOf({
        ...claims,
        iss: url,
        iat: now(),
        nbf: now(),
        exp: now() + issuer.life,
        jti: randomUUID(),
      }),
    serve(of) {
      of.giveToken = ({ id, job_type, cloud_identity }, { audience, phase }) => {
        if (issuer.fault) return issuer.fault;
        const { audience: own } = cloud_identity as { audience?: string };
        if (typeof audience !== "string" || audience !== own)
          return problem(403, "audience_not_allowed", "not the audience of the identity");
        if (phase !== "plan" && (phase !== "apply" || job_type === "PLAN"))
          return problem(403, "phase_not_allowed", "not a phase of the job");
        const token = issuer.sign({ aud: audience, sub: issuer.subjectOf(id, phase) });
        issuer.issued.push({ job: id, audience, phase, token });
        const expires_at = new Date((now() + issuer.life) * 1000).toISOString();
        return { status: 200, text: JSON.stringify({ token, expires_at }) };
      };
    },
    [Symbol.asyncDispose]: close,
  };
  return issuer;
}
