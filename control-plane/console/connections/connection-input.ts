/** From the forms of a connection to the fields of the API. What is left empty is left out. */
import type { Form } from "../page/form.ts";

/** Not shown again after a refusal. */
const secrets = new Set(["credential", "clone_credential", "private_key"]);

export const withoutSecrets = ({ fields }: Form): Form["fields"] =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !secrets.has(name)));

export function createdFrom(form: Form): unknown {
  const kind = form.text("kind");
  return {
    kind,
    ...(kind === "bitbucket" ? {} : filled(form, "base_url", "api_url")),
    ...changeFrom(form, kind),
  };
}

export const changeFrom = (form: Form, kind: string): object => {
  const seconds = form.word("poll_seconds");
  const app = filled(form, "private_key", "installation_id");
  const id = form.word("app_id");
  return {
    name: form.word("name"),
    ...filled(form, "status_name"),
    // The schema refuses what is not a number.
    ...(seconds === "" ? {} : { poll_seconds: /^\d+$/.test(seconds) ? Number(seconds) : seconds }),
    ...(kind !== "github_app"
      ? filled(form, "credential", "clone_credential")
      : id === "" && Object.keys(app).length === 0
        ? {}
        : { app: { ...app, ...(id === "" ? {} : { id }) } }),
  };
};

const filled = (form: Form, ...names: string[]): Record<string, string> =>
  Object.fromEntries(
    names.map((name) => [name, form.word(name)]).filter(([, value]) => value !== ""),
  );
