import type { Routes } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import { publishRelease, registerCloudWorker } from "../services/releases/releases.ts";

export const releaseRoutes = (context: Context) =>
  ({
    publishRelease: ({ caller, body }) => publishRelease(context, caller, body),
    registerCloudWorker: ({ caller, body }) => registerCloudWorker(context, caller, body),
  }) satisfies Partial<Routes>;
