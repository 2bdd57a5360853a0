import { disconnectSignal } from "../http/disconnect-signal.ts";
import type { Routes } from "../http/route.ts";
import { sent } from "../http/sent.ts";
import type { Claims } from "../services/claims/claims.ts";

export const claimRoutes = (claims: Claims) =>
  ({
    claimJob: {
      quiet: true,
      handle: async ({ caller, query, headers, reply }) => {
        const text = await claims.claim({
          worker: caller,
          key: headers["idempotency-key"],
          waitMilliseconds: (query.wait ?? 0) * 1000,
          disconnected: () => disconnectSignal(reply),
        });
        if (text === null) reply.code(204).send();
        else reply.type("application/json; charset=utf-8").send(text);
        return sent;
      },
    },
  }) satisfies Partial<Routes>;
