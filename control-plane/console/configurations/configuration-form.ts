import { script } from "../assets.ts";
import type { CloudIdentity } from "../../../protocol/cloud-identities.ts";
import type { ZoneName } from "../../services/zones/zones.ts";
import { choice, columns, line, lines, trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { sourceFields } from "./source-fields.ts";

export interface Choices {
  readonly zones: readonly ZoneName[];
  readonly identities: readonly Pick<CloudIdentity, "id" | "name">[];
}

/** Where the fields are in the API: what is wrong with others is said above the form. */
const paths = [
  "name",
  "zone_id",
  "source.url",
  "source.ref",
  "source.path",
  "source.sha256",
  "source.files",
  "engine_version",
  "labels",
  "cloud_identity_id",
  "project_name",
  "working_directory",
  "var_files",
  "parallelism",
  "timeout_seconds",
];

/** `seen` is the mark of what the form changes. */
export const configurationForm = (
  form: Form,
  action: string,
  button: string,
  { zones, identities }: Choices,
  seen = "",
): Html =>
  html`<form method="post" action="${action}" class="form">
      <input type="hidden" name="seen" value="${seen}" />
      ${trouble(form, paths, action.replace(/\/edit$/, ""))}
      ${line(form, { name: "name", label: "Name", required: true, hint: "Unique in all zones." })}
      ${
        zones.length === 0
          ? null
          : choice(
              form,
              { name: "zone_id", label: "Zone" },
              zones.map(({ id, name }) => [id, name]),
            )
      }
      ${sourceFields(form)}
      <fieldset>
        <legend>Engine and worker</legend>
        ${columns(
          choice(form, { name: "engine", label: "Engine" }, [
            ["terraform", "Terraform"],
            ["opentofu", "OpenTofu"],
          ]),
          line(form, {
            name: "engine_version",
            label: "Version",
            placeholder: "~> 1.14",
            hint: "A version or a constraint. Empty: the version that is installed on the worker.",
          }),
        )}
        ${line(form, {
          name: "labels",
          label: "Labels",
          placeholder: "eu prod",
          hint: "Only runners of workers with all of these labels run its jobs. Separate labels with spaces.",
        })}
        ${choice(
          form,
          {
            name: "cloud_identity_id",
            label: "Cloud identity",
            hint: html`The role that its jobs assume. <a href="/identities">Identities</a> are
              created on their own page.`,
          },
          [["", "None"], ...identities.map(({ id, name }) => [id, name] as const)],
        )}
      </fieldset>
      <details class="more" ${hasMore(form) ? html`open` : null}>
        <summary>More settings</summary>
        ${line(form, {
          name: "working_directory",
          label: "Working directory",
          placeholder: "envs/prod",
          hint: "The directory of the source in which terraform runs. Empty: its top directory.",
        })}
        ${choice(
          form,
          {
            name: "backend",
            label: "State",
            hint: "Files declare a backend with a backend or cloud block. It is replaced only if you choose the second option.",
          },
          [
            ["", "In the backend that the files declare, or on this server if they declare none"],
            ["managed", "On this server, even if the files declare a backend"],
            ["own", "In the backend that the files declare"],
          ],
        )}
        ${lines(form, {
          name: "var_files",
          label: "Files of variables",
          placeholder: "envs/prod.tfvars",
          hint: "Paths in the source, one per line. Later files override earlier ones. Variable sets and the variables of this configuration override all of them.",
        })}
        ${line(form, {
          name: "parallelism",
          label: "Resources at once",
          numeric: true,
          hint: "1 to 256. Empty: 10, the default of terraform.",
        })}
        ${line(form, {
          name: "timeout_seconds",
          label: "Time limit of a job, in seconds",
          numeric: true,
          hint: "A job that runs longer is stopped. From 1 second to 7 days.",
        })}
        ${line(form, {
          name: "project_name",
          label: "Project name",
          hint: "A second unique name, by which pipelines find the configuration. Empty: the same as the name.",
        })}
      </details>
      <p><button>${button}</button></p>
    </form>
    ${script("source.js")}`;

/** What is hidden at first is shown where it says something, or something is wrong with it. */
const hasMore = (form: Form): boolean =>
  [
    "working_directory",
    "project_name",
    "timeout_seconds",
    "backend",
    "var_files",
    "parallelism",
  ].some((path) => form.wrong(path) !== undefined) ||
  form.word("var_files") !== "" ||
  form.word("parallelism") !== "" ||
  form.word("working_directory") !== "" ||
  form.text("backend") !== "";
