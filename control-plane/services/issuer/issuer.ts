/** What the issuer publishes, and whether a new key has reached those who read it. */
import type { Answer } from "../../../protocol/endpoint.ts";
import type { Endpoints } from "../../../protocol/endpoints.ts";
import { request } from "../../../common/http-client.ts";
import { mebibyte, second } from "../../../common/units.ts";
import type { Context } from "../context.ts";
import { dropOldKeys, findUnreadKey, listPublishedKeys, markKeyRead } from "./keys.ts";

export const issuerFiles = {
  configuration: ".well-known/openid-configuration",
  keys: ".well-known/jwks.json",
} as const;

type Issuing = Pick<Context, "store" | "box" | "now" | "issuerUrl">;

const keysAddress = ({ issuerUrl }: Pick<Context, "issuerUrl">): string =>
  `${issuerUrl()}/${issuerFiles.keys}`;

/** What a token may say (tokens.ts). */
const claims =
  "iss sub aud exp iat nbf jti space_id zone_id configuration_id job_id attempt job_type phase source_commit pull_request plan_digest approved_by";

export const describeIssuer = (
  context: Pick<Context, "issuerUrl">,
): Answer<Endpoints["readIssuer"]> => ({
  issuer: context.issuerUrl(),
  jwks_uri: keysAddress(context),
  response_types_supported: ["id_token"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
  scopes_supported: ["openid"],
  claims_supported: claims.split(" "),
});

export const publishKeys = async (
  context: Issuing,
): Promise<Answer<Endpoints["readIssuerKeys"]>> => ({
  keys: await listPublishedKeys(context),
});

const timeout = 10 * second;
const bodyLimit = mebibyte;

/** One round: a new key signs only after this server has read it where the clouds read it. */
export async function watchIssuer(context: Issuing, signal: AbortSignal): Promise<void> {
  const kid = await findUnreadKey(context);
  if (kid !== undefined && (await readPublished(context, signal)).includes(kid))
    await markKeyRead(context, kid);
  await dropOldKeys(context);
}

/** The ids of the keys at `jwks_uri`. Throws if they cannot be read there. */
async function readPublished(context: Issuing, signal: AbortSignal): Promise<string[]> {
  const address = keysAddress(context);
  const answer = await request(address, {
    headers: { "user-agent": "windlass", accept: "application/json" },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
  });
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of answer.body as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > bodyLimit) throw new Error(`${address} is longer than ${bodyLimit} bytes`);
    parts.push(part);
  }
  if (answer.statusCode !== 200) throw new Error(`${address} responded ${answer.statusCode}`);
  const { keys } = JSON.parse(Buffer.concat(parts).toString()) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error(`${address} has no list of keys`);
  return keys.map((key: { kid?: unknown } | null) => String(key?.kid));
}
