/** The keys with which an OpenID Connect provider signs. */
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type CryptoKey,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
} from "jose";
import { minute } from "../../../common/units.ts";
import type { ProviderSettings } from "../../domain/providers.ts";

/** The algorithms that are accepted. */
export const algorithms = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"];

type Fetch = (
  url: string,
  options: { method: string; headers: Record<string, string> },
) => Promise<Response>;

type KeyOf = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

const known = new WeakMap<ProviderSettings, KeyOf>();

/**
 * Finds the key of a token. The keys are fetched again for one that is not known, because a provider
 * signs with a new key at once; at most once a minute while that finds none.
 */
export function keysOf(settings: ProviderSettings, address: string, fetch: Fetch): KeyOf {
  const found = known.get(settings);
  if (found) return found;
  const set = createRemoteJWKSet(new URL(address), {
    // Not by itself: right after a fetch it would wait.
    cooldownDuration: Infinity,
    timeoutDuration: settings.timeoutMilliseconds,
    [customFetch]: (url, { method, headers }) =>
      fetch(url, { method, headers: Object.fromEntries(headers) }),
  });
  let askedAt = -Infinity;
  let fetching: Promise<void> | undefined;
  const keyOf: KeyOf = async (header, token) => {
    try {
      return await set(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const now = performance.now();
      if (!fetching && askedAt <= now - minute) {
        askedAt = now;
        fetching = set.reload().finally(() => (fetching = undefined));
      }
      await fetching;
      const key = await set(header, token);
      // The provider did have a new key, and may soon have another one.
      askedAt = -Infinity;
      return key;
    }
  };
  known.set(settings, keyOf);
  return keyOf;
}
