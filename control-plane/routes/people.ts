/** People: device login, logins and access tokens, and a person's repositories. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { networkOf, refusalLimits } from "../services/refusal-limit.ts";
import type { Context } from "../services/context.ts";
import {
  createAccessToken,
  getCurrentAccessToken,
  listAccessTokens,
  revokeAccessToken,
} from "../services/people/access-tokens.ts";
import { exchangeDeviceLogin, generateDeviceLogin } from "../services/people/device-login.ts";
import { endOwnLogin, listLogins } from "../services/people/logins.ts";
import { refreshTokens } from "../services/people/refresh-tokens.ts";
import { isCodeHost } from "../domain/providers.ts";
import { notFound } from "../domain/refusal.ts";
import { listRepositories } from "../services/people/repositories.ts";
import { sendList } from "../http/list.ts";
import { bodilessRoutes, route, type Guards } from "../http/route.ts";

/**
 * Only refused exchanges count, so a user who types the right code is never limited by mistakes
 * made from other addresses.
 */
const refusedPerAddress = 60;
const refusedPerDeviceCode = 10;

export function peopleRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  const addresses = refusalLimits(refusedPerAddress);
  const deviceCodes = refusalLimits(refusedPerDeviceCode);

  route(app, endpoints.generateDeviceLogin, guards, async ({ caller, body }) =>
    generateDeviceLogin(context, caller, body.device_code),
  );

  route(app, endpoints.exchangeDeviceLogin, guards, async ({ body, request }) => {
    const limits = [addresses.of(networkOf(request.ip)), deviceCodes.of(body.device_code)];
    for (const limit of limits) limit.check();
    return exchangeDeviceLogin(context, body, request, limits);
  });

  route(app, endpoints.refreshTokens, guards, async ({ body, request }) =>
    refreshTokens(context, body.refresh_token, request),
  );

  route(app, endpoints.createAccessToken, guards, async ({ caller, body }) =>
    createAccessToken(context, caller, body),
  );
  route(app, endpoints.listAccessTokens, guards, async ({ caller, query, reply }) =>
    sendList(reply, "access_tokens", query, (before, limit) =>
      listAccessTokens(context, caller, before, limit),
    ),
  );
  route(app, endpoints.getCurrentAccessToken, guards, async ({ caller }) =>
    getCurrentAccessToken(context, caller),
  );

  route(app, endpoints.listLogins, guards, async ({ caller, query, reply }) =>
    sendList(reply, "logins", query, (before, limit) => listLogins(context, caller, before, limit)),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.revokeAccessToken, guards, async ({ caller, params }) => {
      await revokeAccessToken(context, caller, params.id);
      return undefined;
    });
    route(bodiless, endpoints.revokeLogin, guards, async ({ caller, params }) => {
      await endOwnLogin(context, caller, params.id);
      return undefined;
    });
  });

  route(app, endpoints.listRepositories, guards, async ({ caller, params, query }) => {
    if (!isCodeHost(params.git_provider)) throw notFound("code-hosting provider");
    return listRepositories(context, caller, params.git_provider, query);
  });
}
