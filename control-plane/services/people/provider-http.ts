/** Time and size are limited, so that a provider that hangs delays no other request. */
import { request } from "../../../common/http-client.ts";
import type { ProviderSettings } from "../../domain/providers.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { mebibyte } from "../../../common/units.ts";

/** A page of a hundred repositories is below a megabyte. */
const bodyLimit = 8 * mebibyte;

export interface ProviderAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface ProviderRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** One request; redirects are not followed. Throws `provider_unavailable`. */
export async function askProvider(
  { timeoutMilliseconds }: ProviderSettings,
  url: string,
  { method = "GET", headers = {}, body }: ProviderRequest = {},
): Promise<ProviderAnswer> {
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  try {
    const answer = await request(url, {
      method: method as "GET",
      headers: { "user-agent": "windlass", ...headers },
      body: body ?? null,
      signal,
    });
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of answer.body as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > bodyLimit) throw new Error("the response is too long");
      parts.push(part);
    }
    const known = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
    return {
      status: answer.statusCode,
      headers: new Headers(known as [string, string][]),
      text: Buffer.concat(parts).toString(),
    };
  } catch (error) {
    const why = signal.aborted ? "the response took too long" : (error as Error).message;
    throw unavailable(why);
  }
}

/** Makes an authorised GET of JSON. Throws whether the token or the host is at fault. */
export async function getJson(
  settings: ProviderSettings,
  url: string,
  token: string,
): Promise<{ json: unknown; headers: Headers }> {
  const { status, headers, text } = await askProvider(settings, url, {
    headers: { authorization: `Bearer ${token}`, accept: "application/json" },
  });
  // GitHub also returns 403 when the rate limit is exceeded; the token is valid then.
  const isLimited = headers.get("x-ratelimit-remaining") === "0" || headers.has("retry-after");
  if (status === 401 || (status === 403 && !isLimited))
    throw new RefusalError("provider_token_rejected");
  if (status !== 200) throw unavailable(`it responded ${status}`);
  try {
    return { json: JSON.parse(text), headers };
  } catch {
    throw unavailable("its response is not JSON");
  }
}

export const unavailable = (why: string): RefusalError =>
  new RefusalError("provider_unavailable", `The provider is not available: ${why}`);
