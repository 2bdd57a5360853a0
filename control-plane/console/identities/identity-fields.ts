/** The fields of a cloud identity. Only those of the chosen provider show; the style sheet does that. */
import {
  identityProviders,
  requiredFields,
  type IdentityProvider,
} from "../../../protocol/identity-kinds.ts";
import { fieldNamesOf } from "../../domain/cloud-identity.ts";
import { choice, line, lines, radios, tick } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";

/** What a provider is called, and what happens with it. */
export const providerWords: Readonly<
  Record<IdentityProvider, { readonly name: string; readonly about: string }>
> = {
  aws: {
    name: "AWS, runners’ role",
    about: "The runner assumes the role as itself, with an external id.",
  },
  aws_web_identity: {
    name: "AWS, web identity",
    about: "AWS trusts tokens that this server makes for each job.",
  },
  azure: {
    name: "Azure",
    about: "An application of Entra ID trusts tokens that this server makes for each job.",
  },
  gcp: {
    name: "Google Cloud",
    about: "A workload identity pool trusts tokens that this server makes for each job.",
  },
  vault: {
    name: "Vault, OpenBao",
    about: "Its JWT auth method trusts tokens that this server makes for each job.",
  },
};

type Draw = (form: Form, name: string) => Html;

const text =
  (label: string, more: { placeholder?: string; hint?: string; required?: boolean } = {}): Draw =>
  (form, name) =>
    line(form, { name, label, ...more });

const planHint =
  "Optional. One that can only read: every PLAN uses it, and with it plans of pull requests have the identity too.";

const fields: Readonly<Record<string, Draw>> = {
  role_arn: text("Role at AWS", {
    placeholder: "arn:aws:iam::123456789012:role/terraform",
    hint: "The ARN of the role. It need not exist yet.",
  }),
  plan_role_arn: text("Role of plans", { hint: planHint }),
  workload_identity_provider: text("Workload identity provider", {
    placeholder: "projects/123456789012/locations/global/workloadIdentityPools/pool/providers/name",
    hint: "Its path, with the number of the project.",
  }),
  service_account: text("Service account", {
    placeholder: "deploy@my-project.iam.gserviceaccount.com",
    hint: "Optional. Without it, roles are granted to the jobs themselves.",
  }),
  plan_service_account: text("Service account of plans", { hint: planHint }),
  tenant_id: text("Tenant id", { hint: "The directory." }),
  client_id: text("Client id", { hint: "Of the application that jobs sign in as." }),
  plan_client_id: text("Client id of plans", { hint: planHint }),
  subscription_id: text("Subscription id", { hint: "Optional." }),
  address: text("Address", {
    placeholder: "https://vault.example.com:8200",
    hint: "As the runners reach it.",
  }),
  role: text("Role at Vault", { hint: "Of the JWT auth method." }),
  plan_role: text("Vault role of plans", { hint: planHint }),
  mount: text("Mount", { placeholder: "jwt", hint: "Where the JWT auth method is." }),
  namespace: text("Namespace", { hint: "Optional." }),
  ca: (form, name) =>
    lines(form, {
      name,
      label: "Authorities",
      rows: 3,
      placeholder: "-----BEGIN CERTIFICATE-----",
      hint: "Optional. In PEM, if its certificate is of an authority of your own.",
    }),
  audience: text("Audience", { hint: "Optional. Empty: the usual one of the provider." }),
  subject: (form, name) =>
    choice(form, { name, label: "The subject of tokens names" }, [
      ["configuration", "zone and configuration"],
      ["zone", "the zone"],
      ["identity", "this identity"],
    ]),
  session_tags: (form, name) => tick(form, name, "Send session tags to AWS"),
};

/** Where the fields are in the API: what is wrong with others is said above the form. */
export const paths = ["name", ...Object.keys(fields)];

export const nameField = (form: Form): Html =>
  line(form, { name: "name", label: "Name", required: true });

/** All fields, each for the providers that have it. */
export const fieldsToChoose = (form: Form): Html =>
  html`${radios(
    form,
    { name: "provider", label: "Provider" },
    identityProviders.map((provider) => [
      provider,
      providerWords[provider].name,
      html`<p>${providerWords[provider].about}</p>`,
    ]),
  )}
  ${Object.entries(fields).map(
    ([name, draw]) =>
      html`<div
        data-for="${identityProviders.filter((one) => fieldNamesOf(one).includes(name)).join(" ")}"
      >
        ${draw(form, name)}
      </div>`,
  )}`;

/** Those of one provider. */
export const fieldsOf = (form: Form, provider: IdentityProvider): Html =>
  html`${Object.entries(fields).map(([name, draw]) =>
    fieldNamesOf(provider).includes(name) ? draw(form, name) : null,
  )}`;

/** From the form to the API. `isNew`: what is empty is left out; a change takes it away. */
export function inputFrom(form: Form, provider: string, isNew: boolean): object {
  const known = identityProviders.find((one) => one === provider);
  const names = known === undefined ? [] : fieldNamesOf(known);
  // Fields that an identity always has.
  const staying = new Set<string>(["mount", "subject", ...(known ? requiredFields[known] : [])]);
  const given = names.flatMap((name): [string, unknown][] => {
    if (name === "session_tags") return [[name, form.isOn(name)]];
    const word = form.word(name);
    if (word !== "") return [[name, word]];
    return isNew || staying.has(name) ? [] : [[name, null]];
  });
  return { name: form.word("name"), ...Object.fromEntries(given) };
}
