import type { CloudIdentity } from "../../../protocol/cloud-identities.ts";
import { isIssued } from "../../../protocol/identity-kinds.ts";
import { endpoints } from "../../../protocol/endpoints.ts";
import type { UserCaller } from "../../services/callers.ts";
import {
  createCloudIdentity,
  deleteCloudIdentity,
  getCloudIdentity,
  listCloudIdentities,
  listUsers,
  trustPolicy,
  trustTerraformOf,
  updateCloudIdentity,
} from "../../services/identities/identities.ts";
import type { Context } from "../../services/context.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { attempt, Form } from "../page/form.ts";
import { inputFrom } from "./identity-fields.ts";
import { identitiesPage, identityPage } from "./identities-page.ts";
import { idIn, readList } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";

const shown = 100;
const most = 1000;
const validatePrincipal = validatorOf(endpoints.getTrustPolicy.query);

const frame = { at: "/identities" };

export function identityPages(pages: SignedIn, context: Context): void {
  pages
    .page("/identities", "listCloudIdentities", {
      draw: async (_, { caller, request, forms }) => {
        const identities = await readList(request.query, shown, (before, limit) =>
          listCloudIdentities(context, caller, before, limit),
        );
        const body = identitiesPage(identities, forms("create", { provider: "aws" }));
        return { ...frame, title: "Cloud identities", body };
      },
    })
    .form("create", "createCloudIdentity", {
      input: (form) => {
        const provider = form.text("provider") || "aws";
        return { provider, ...inputFrom(form, provider, true) };
      },
      submit: async ({ caller, input }) =>
        `/identities/${(await createCloudIdentity(context, caller, input())).id}`,
    });

  pages
    .page("/identities/:id", "getCloudIdentity", {
      find: (caller: UserCaller, params) =>
        getCloudIdentity(context, caller, idIn(params, "cloud identity")),
      draw: async (identity, { caller, request, forms }) => {
        const { id, name, provider } = identity;
        const { principal = accountOf(identity) } = request.query as { principal?: unknown };
        let policy = null;
        const issued = isIssued(provider);
        const refused = issued
          ? null
          : await attempt({ principal }, async () => {
              const trusted = validatePrincipal({ principal });
              policy = await trustPolicy(context, caller, id, trusted.principal);
            });
        const terraform = issued ? await trustTerraformOf(context, caller, id) : null;
        const users = await listUsers(context, caller, id, most);
        const trusted = refused ?? new Form({ principal });
        const body = identityPage({ identity, users, policy, terraform, trusted }, forms);
        return { ...frame, title: name, body, status: trusted.status };
      },
    })
    .form("edit", "updateCloudIdentity", {
      input: (form, { provider }) => inputFrom(form, provider, false),
      submit: async ({ caller, thing: { id }, input }) => {
        await updateCloudIdentity(context, caller, id, input());
        return `/identities/${id}`;
      },
    })
    .form("remove", "deleteCloudIdentity", {
      path: "/delete",
      submit: async ({ caller, thing: { id } }) => {
        await deleteCloudIdentity(context, caller, id);
        return "/identities";
      },
    });
}

/** The account of the role itself: where most workers are. */
const accountOf = ({ role_arn = "" }: CloudIdentity): string =>
  role_arn.replace(/^(arn:[a-z-]+:iam::\d{12}):.*$/, "$1:root");
