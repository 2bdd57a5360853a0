/** Who may register a worker: a registration token, a signed-in client, or the worker itself. */
import { hashToken } from "../../domain/tokens.ts";
import { networkOf, refusalLimits, wrongSecretsLimit } from "../../services/refusal-limit.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Guard, Guards } from "../route.ts";
import type { Context } from "../../services/context.ts";
import type { Registrant } from "../../services/workers/workers.ts";
import { findRegistrationToken } from "../../store/workers/workers.ts";

/** The token is only looked at here; its use is counted when the worker is made. */
export function registrantGuard(
  { store, now }: Context,
  { worker, client }: Pick<Guards, "worker" | "client">,
): Guard<Registrant> {
  const wrong = refusalLimits(wrongSecretsLimit);
  return async (request, reply) => {
    const token = request.headers["x-registration-token"];
    if (typeof token === "string") {
      const limit = wrong.of(networkOf(request.ip));
      limit.check();
      const token_hash = hashToken(token);
      if (!(await store.read.first(findRegistrationToken, { token_hash, now: now() }))) {
        limit.count();
        throw new RefusalError(
          "unauthenticated",
          "the registration token is wrong, used up or expired; make a new one",
        );
      }
      return { kind: "token", token_hash, origin: request };
    }
    if (request.headers["x-worker-id"] !== undefined)
      return { kind: "worker", worker: await worker(request, reply) };
    return { kind: "user", user: await client(request, reply) };
  };
}
