import { list } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import {
  createCloudIdentity,
  deleteCloudIdentity,
  getCloudIdentity,
  listCloudIdentities,
  trustPolicy,
  trustTerraformOf,
  updateCloudIdentity,
} from "../services/identities/identities.ts";

export const identityRoutes = (context: Context) =>
  ({
    listCloudIdentities: async ({ caller }) =>
      list((before, limit) => listCloudIdentities(context, caller, before, limit)),
    createCloudIdentity: ({ caller, body }) => createCloudIdentity(context, caller, body),
    getCloudIdentity: ({ caller, params }) => getCloudIdentity(context, caller, params.id),
    updateCloudIdentity: ({ caller, params, body }) =>
      updateCloudIdentity(context, caller, params.id, body),
    deleteCloudIdentity: ({ caller, params }) => deleteCloudIdentity(context, caller, params.id),
    getTrustPolicy: ({ caller, params, query }) =>
      trustPolicy(context, caller, params.id, query.principal),
    getTrustTerraform: async ({ caller, params }) => ({
      terraform: await trustTerraformOf(context, caller, params.id),
    }),
  }) satisfies Partial<Routes>;
