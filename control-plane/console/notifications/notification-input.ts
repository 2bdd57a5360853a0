/** From the forms of a notification rule to the fields of the API, and back. */
import type { Notification } from "../../../protocol/notifications.ts";
import type { Form } from "../page/form.ts";
import { placedBy, placeOf } from "../places.ts";
import { eventFields } from "./notification-fields.ts";

/** The addresses of channels are secrets, which are not shown again after a refusal. */
export const withoutAddress = (form: Form, kind = form.text("kind")): Form["fields"] =>
  kind === "webhook" ? form.fields : { ...form.fields, url: "" };

export const createdFrom = (form: Form): unknown => {
  const kind = form.text("kind");
  const { to, ...fields } = changeFrom(form, kind);
  return { ...fields, to: { kind, ...to } };
};

export function changeFrom(form: Form, kind: string) {
  const minutes = form.word("stalled_minutes");
  const url = form.word("url");
  const addresses = form.linesOf("addresses");
  const to = {
    ...(kind !== "email" && url !== "" ? { url } : {}),
    ...(kind === "email" ? { addresses } : {}),
  };
  return {
    name: form.word("name"),
    events: [...new Set([...form.all("events"), ...form.linesOf("more_events")])],
    ...placedBy(form.word("place")),
    // The schema refuses what is not a number.
    ...(minutes === ""
      ? {}
      : { stalled_minutes: /^\d+$/.test(minutes) ? Number(minutes) : minutes }),
    ...(Object.keys(to).length === 0 ? {} : { to }),
  };
}

export const editedFields = (it: Notification): Record<string, string | readonly string[]> => ({
  name: it.name,
  url: it.to.url ?? "",
  addresses: (it.to.addresses ?? []).join("\n"),
  ...eventFields(it.events),
  place: placeOf(it),
  stalled_minutes: String(it.stalled_minutes),
});
