import type { FastifyReply } from "fastify";
import { issuerCacheSeconds } from "../../protocol/issuer.ts";
import type { Routes } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import { describeIssuer, publishKeys } from "../services/issuer/issuer.ts";
import { createIdentityToken } from "../services/issuer/tokens.ts";

const cache = (reply: FastifyReply) =>
  reply.header("cache-control", `public, max-age=${issuerCacheSeconds}`);

export const issuerRoutes = (context: Context) =>
  ({
    readIssuer: async ({ reply }) => {
      cache(reply);
      return describeIssuer(context);
    },
    readIssuerKeys: async ({ reply }) => {
      const published = await publishKeys(context);
      cache(reply);
      return published;
    },
    createIdentityToken: ({ caller, params, headers, body, reply }) => {
      reply.header("cache-control", "no-store");
      return createIdentityToken(context, caller, params.id, headers["x-job-attempt"], body);
    },
  }) satisfies Partial<Routes>;
