/** The guard of automated pipelines: RELEASE_API_SECRET as a bearer token. */
import { equalSecrets, hashToken } from "../../domain/tokens.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { networkOf, refusalLimits, wrongSecretsLimit } from "../../services/refusal-limit.ts";
import type { PipelineCaller } from "../../services/callers.ts";
import type { Guard } from "../route.ts";
import type { Context } from "../../services/context.ts";

/** Lets the release secret in, compared in constant time. Without one configured, refuses every caller. */
export function pipelineGuard({ releaseSecret }: Context): Guard<PipelineCaller> {
  const expected = releaseSecret === undefined ? undefined : hashToken(releaseSecret);
  const wrong = refusalLimits(wrongSecretsLimit);
  return async (request) => {
    const { headers } = request;
    const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
    const limit = wrong.of(networkOf(request.ip));
    // Before the secret is judged: otherwise a guess could still be confirmed.
    if (given !== undefined) limit.check();
    // Hashes are equally long: the secret's length does not show either.
    if (expected === undefined || !equalSecrets(hashToken(given ?? ""), expected)) {
      if (given !== undefined) limit.count();
      throw new RefusalError(
        "unauthenticated",
        "send Authorization: Bearer with RELEASE_API_SECRET",
        {},
        { "www-authenticate": "Bearer" },
      );
    }
    return { origin: request };
  };
}
