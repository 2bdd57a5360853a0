/** The pages of cloud identities, and what a person does with them. */
import { validate } from "uuid";
import {
  CreateCloudIdentity,
  UpdateCloudIdentity,
  type CloudIdentity,
} from "../../../protocol/cloud-identities.ts";
import { endpoints } from "../../../protocol/endpoints.ts";
import type { UserCaller } from "../../services/callers.ts";
import { notFound } from "../../domain/refusal.ts";
import {
  createCloudIdentity,
  deleteCloudIdentity,
  getCloudIdentity,
  listCloudIdentities,
  listUsers,
  trustPolicy,
  updateCloudIdentity,
} from "../../services/identities/identities.ts";
import type { Context } from "../../services/context.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { attempt, Form } from "../page/form.ts";
import { identitiesPage, identityPage, type IdentityForms } from "./identities-page.ts";
import { sendPage } from "../page/layout.ts";
import type { SignedIn } from "../signed-in.ts";

const shown = 100;
const most = 1000;
const validateNew = validatorOf(CreateCloudIdentity);
const validateChange = validatorOf(UpdateCloudIdentity);
const validatePrincipal = validatorOf(endpoints.getTrustPolicy.query);

const frame = ({ email }: UserCaller) => ({ email, at: "/identities" });
const typed = (fields: unknown) => {
  const form = new Form(fields);
  return { name: form.word("name"), role_arn: form.word("role_arn") };
};

export function identityPages(pages: SignedIn, context: Context): void {
  const list = async (caller: UserCaller, query: unknown, form: Form) => {
    const { before } = query as { before?: unknown };
    const from = typeof before === "string" && validate(before) ? before : undefined;
    const identities = await listCloudIdentities(context, caller, from, shown + 1);
    const next = identities.length > shown ? identities[shown - 1]?.id : undefined;
    const body = identitiesPage(identities.slice(0, shown), next, form);
    return { ...frame(caller), title: "Cloud identities", body };
  };
  pages.get("/identities", "listCloudIdentities", async (caller, { query }, reply) => {
    sendPage(reply, await list(caller, query, new Form()));
  });
  pages.post("/identities", "createCloudIdentity", async (caller, { body, query }, reply) => {
    const form = await attempt(body, async () => {
      const input = validateNew({ ...typed(body), provider: "aws" });
      const { id } = await createCloudIdentity(context, caller, input);
      reply.redirect(`/identities/${id}`, 303);
    });
    if (form) sendPage(reply, await list(caller, query, form), form.status);
  });

  const page = async (
    caller: UserCaller,
    identity: CloudIdentity,
    query: unknown,
    forms: Partial<IdentityForms> = {},
  ) => {
    const { id, name, role_arn } = identity;
    const { principal = accountOf(identity) } = query as { principal?: unknown };
    let policy = null;
    const refused = await attempt({ principal }, async () => {
      const trusted = validatePrincipal({ principal });
      policy = await trustPolicy(context, caller, id, trusted.principal);
    });
    const users = await listUsers(context, caller, id, most);
    const body = identityPage(
      { identity, users, policy },
      {
        edit: new Form({ name, role_arn }, undefined, "edit"),
        remove: new Form(),
        trusted: refused ?? new Form({ principal }),
        ...forms,
      },
    );
    return {
      page: { ...frame(caller), title: name, body, from: `/identities/${id}` },
      status: refused?.status,
    };
  };
  const find = (caller: UserCaller, params: unknown): Promise<CloudIdentity> => {
    const { id } = params as { id: string };
    if (!validate(id)) throw notFound("cloud identity");
    return getCloudIdentity(context, caller, id);
  };
  pages.get("/identities/:id", "getCloudIdentity", async (caller, { params, query }, reply) => {
    const made = await page(caller, await find(caller, params), query);
    sendPage(reply, made.page, made.status);
  });
  pages.post("/identities/:id", "updateCloudIdentity", async (caller, { params, body }, reply) => {
    const identity = await find(caller, params);
    const edit = await attempt(
      body,
      async () => {
        await updateCloudIdentity(context, caller, identity.id, validateChange(typed(body)));
        reply.redirect(`/identities/${identity.id}`, 303);
      },
      "edit",
    );
    if (edit) sendPage(reply, (await page(caller, identity, {}, { edit })).page, edit.status);
  });
  pages.post("/identities/:id/delete", "deleteCloudIdentity", async (caller, { params }, reply) => {
    const identity = await find(caller, params);
    const remove = await attempt({}, async () => {
      await deleteCloudIdentity(context, caller, identity.id);
      reply.redirect("/identities", 303);
    });
    if (remove) sendPage(reply, (await page(caller, identity, {}, { remove })).page, remove.status);
  });
}

/** The account of the role itself: where most workers are. */
const accountOf = ({ role_arn }: CloudIdentity): string =>
  role_arn.replace(/^(arn:[a-z-]+:iam::\d{12}):.*$/, "$1:root");
