/** Device login and the tokens of the client. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { refusalLimit } from "../auth/rate-limit.ts";
import { Refusal } from "../problem.ts";
import type { Context } from "../services/context.ts";
import { exchangeDeviceLogin, generateDeviceLogin } from "../services/device-login.ts";
import { refreshTokens } from "../services/logins.ts";
import type { Guards } from "./guards.ts";
import { route } from "./route.ts";

/** Only refused exchanges count, so nobody who types the right code is ever limited by others' mistakes at other addresses. */
const refusedPerAddress = 60;
const refusedPerDeviceCode = 10;

/** Adds the routes of this file. */
export function authRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  const addresses = refusalLimit(refusedPerAddress, context.now);
  const deviceCodes = refusalLimit(refusedPerDeviceCode, context.now);

  route(app, endpoints.generateDeviceLogin, guards.session, async ({ caller, body }) =>
    generateDeviceLogin(context, caller, body.device_code),
  );

  route(app, endpoints.exchangeDeviceLogin, guards.anyone, async ({ body, request }) => {
    addresses.check(request.ip);
    deviceCodes.check(body.device_code);
    try {
      return await exchangeDeviceLogin(context, body);
    } catch (error) {
      if (error instanceof Refusal) {
        addresses.count(request.ip);
        deviceCodes.count(body.device_code);
      }
      throw error;
    }
  });

  route(app, endpoints.refreshTokens, guards.anyone, async ({ body }) =>
    refreshTokens(context, body.refresh_token),
  );
}
