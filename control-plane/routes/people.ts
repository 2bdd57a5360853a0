/** Device login and the tokens of the client. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { networkOf, refusalLimits } from "../services/refusal-limit.ts";
import type { Context } from "../services/context.ts";
import { exchangeDeviceLogin, generateDeviceLogin } from "../services/people/device-login.ts";
import { refreshTokens } from "../services/people/logins.ts";
import { route, type Guards } from "../http/route.ts";

/** Only refused exchanges count, so a user who types the right code is never limited by mistakes made from other addresses. */
const refusedPerAddress = 60;
const refusedPerDeviceCode = 10;

/** Adds the routes of this file. */
export function authRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
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
}
