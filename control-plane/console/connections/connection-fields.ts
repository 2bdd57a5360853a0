/** The fields of a connection. Only those of the chosen kind show; the style sheet does that. */
import { pollSeconds, type ConnectionKind } from "../../../protocol/connections.ts";
import { columns, line, lines, radios } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { connectionKinds, hostWords } from "./host-words.ts";

/** Where the fields are in the API: what is wrong with others is said above the form. */
export const paths = [
  "name",
  "base_url",
  "api_url",
  "credential",
  "clone_credential",
  "app.id",
  "app.private_key",
  "app.installation_id",
  "status_name",
  "poll_seconds",
];

export const nameField = (form: Form): Html =>
  line(form, { name: "name", label: "Name", required: true, placeholder: "github" });

export const kindFields = (form: Form): Html =>
  radios(
    form,
    { name: "kind", label: "Code host" },
    connectionKinds.map((kind) => [
      kind,
      hostWords[kind].name,
      html`<p>${hostWords[kind].credential}</p>
        <p>
          It needs:
          ${hostWords[kind].permissions.map((permission) => html`<code>${permission}</code> `)}
        </p>`,
    ]),
  );

/** Of a server of one's own. */
export const addressField = (form: Form): Html =>
  html`<div data-for="github_app github gitlab forgejo">
    ${line(form, {
      name: "base_url",
      label: "Address",
      placeholder: "https://git.example.com",
      hint: html`<span data-for="forgejo">Of the server.</span
        ><span data-for="github_app github gitlab"
          >Of a server of your own. Empty: <span data-for="github_app github">github.com</span
          ><span data-for="gitlab">gitlab.com</span>.</span
        >`,
    })}
  </div>`;

/** `isNew`: a change keeps what is empty. */
export const credentialFields = (form: Form, kind: ConnectionKind | null): Html => {
  const isNew = kind === null;
  const keep = isNew ? "" : " Empty: the one that is stored stays.";
  const token = html`${line(form, {
    name: "credential",
    label: "Token",
    secret: true,
    hint: `Stored encrypted, and never shown.${keep}`,
  })}
  ${line(form, {
    name: "clone_credential",
    label: "Token for clones",
    secret: true,
    hint: `One that may only read. ${isNew ? "Empty: runners get the token above." : keep.trim()}`,
  })}`;
  const app = html`${columns(
    line(form, {
      name: "app_id",
      path: "app.id",
      label: "App ID",
      numeric: true,
      hint: keep.trim() || "From the App's page at GitHub.",
    }),
    line(form, {
      name: "installation_id",
      path: "app.installation_id",
      label: "Installation ID",
      numeric: true,
      hint: "The number at the end of the installation's address. Empty: the App's only one.",
    }),
  )}
  ${lines(form, {
    name: "private_key",
    path: "app.private_key",
    label: "Private key",
    placeholder: "-----BEGIN RSA PRIVATE KEY-----",
    rows: 3,
    hint: `The .pem file that GitHub makes. Stored encrypted, and never shown.${keep}`,
  })}`;
  if (!isNew) return kind === "github_app" ? app : token;
  return html`<div data-for="github gitlab bitbucket forgejo">${token}</div>
    <div data-for="github_app">
      <p class="soft">The next page creates the App at GitHub.</p>
      <details class="more" ${form.wrong("app") === undefined ? null : html`open`}>
        <summary>An App that there is already</summary>
        ${app}
      </details>
    </div>`;
};

export const otherFields = (form: Form): Html =>
  columns(
    line(form, {
      name: "status_name",
      label: "Name of statuses",
      placeholder: "windlass",
      hint: "Two connections to the same repository need different names.",
    }),
    line(form, {
      name: "poll_seconds",
      label: "Look at the host every (seconds)",
      numeric: true,
      placeholder: String(pollSeconds.default),
      hint: "Changes are found in this time even if no webhook arrives.",
    }),
  );
