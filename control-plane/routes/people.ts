import { isCodeHost } from "../domain/providers.ts";
import { notFound } from "../domain/refusal.ts";
import { list } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import {
  createAccessToken,
  getCurrentAccessToken,
  listAccessTokens,
  revokeAccessToken,
} from "../services/people/access-tokens.ts";
import { exchangeDeviceLogin, generateDeviceLogin } from "../services/people/device-login.ts";
import { endOwnLogin, listLogins } from "../services/people/logins.ts";
import { endByProvider } from "../services/people/provider-sessions.ts";
import { refreshTokens } from "../services/people/refresh-tokens.ts";
import { listRepositories } from "../services/people/repositories.ts";
import { networkOf, refusalLimits } from "../services/refusal-limit.ts";

/**
 * Only refused exchanges count, so a user who types the right code is never limited by mistakes
 * made from other addresses.
 */
const refusedPerAddress = 60;
const refusedPerDeviceCode = 10;

export function peopleRoutes(context: Context) {
  const addresses = refusalLimits(refusedPerAddress);
  const deviceCodes = refusalLimits(refusedPerDeviceCode);
  return {
    generateDeviceLogin: ({ caller, body }) =>
      generateDeviceLogin(context, caller, body.device_code),
    exchangeDeviceLogin: async ({ body, request }) => {
      const limits = [addresses.of(networkOf(request.ip)), deviceCodes.of(body.device_code)];
      for (const limit of limits) limit.check();
      return exchangeDeviceLogin(context, body, request, limits);
    },
    endByProvider: ({ params, body }) => endByProvider(context, params.provider, body),
    refreshTokens: ({ body, request }) => refreshTokens(context, body.refresh_token, request),
    createAccessToken: ({ caller, body }) => createAccessToken(context, caller, body),
    listAccessTokens: async ({ caller }) =>
      list((before, limit) => listAccessTokens(context, caller, before, limit)),
    getCurrentAccessToken: ({ caller }) => getCurrentAccessToken(context, caller),
    revokeAccessToken: ({ caller, params }) => revokeAccessToken(context, caller, params.id),
    listLogins: async ({ caller }) =>
      list((before, limit) => listLogins(context, caller, before, limit)),
    revokeLogin: ({ caller, params }) => endOwnLogin(context, caller, params.id),
    listRepositories: async ({ caller, params, query }) => {
      if (!isCodeHost(params.git_provider)) throw notFound("code-hosting provider");
      return listRepositories(context, caller, params.git_provider, query);
    },
  } satisfies Partial<Routes>;
}
