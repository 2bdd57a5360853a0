/** From the forms of a schedule to the fields of the API, and back. */
import type { Schedule } from "../../../protocol/schedules.ts";
import { clockAt, momentAt } from "../../domain/cron.ts";
import { invalid } from "../../domain/refusal.ts";
import { time } from "../../domain/moments.ts";
import type { Form } from "../page/form.ts";
import { placedBy, placeOf } from "../places.ts";

/** `now`: the schedule that the form changes. */
export function scheduleFrom(form: Form, now?: Schedule): unknown {
  const place = form.word("place");
  // When it comes can be seen before.
  if (place === "" && !form.isOn("preview"))
    throw invalid("body.configuration_id", "choose a zone or a configuration");
  const timezone = form.word("timezone");
  const minutes = form.word("window_minutes");
  const before = now?.timezone === timezone ? fieldsOf(now) : undefined;
  /** The schema refuses what is no time. */
  const moment = (name: "starts_at" | "ends_at"): string | null => {
    const wall = form.word(name);
    // A field has no seconds, and not which of two times that a clock shows twice.
    if (now && wall === before?.[name]) return now[name];
    const at = wall === "" ? null : momentAt(timezone, wall);
    return at === null ? wall || null : time(at);
  };
  return {
    name: form.word("name"),
    kind: form.text("kind"),
    ...placedBy(place),
    cron: form.word("cron"),
    timezone,
    // The schema refuses what is not a number.
    window_minutes: minutes === "" ? 0 : /^\d+$/.test(minutes) ? Number(minutes) : minutes,
    starts_at: moment("starts_at"),
    ends_at: moment("ends_at"),
  };
}

export const fieldsOf = (it: Schedule): Record<string, string> => {
  const wall = (at: string | null) => (at === null ? "" : clockAt(it.timezone, Date.parse(at)));
  return {
    name: it.name,
    kind: it.kind,
    place: placeOf(it),
    cron: it.cron,
    timezone: it.timezone,
    window_minutes: it.window_minutes === 0 ? "" : String(it.window_minutes),
    starts_at: wall(it.starts_at),
    ends_at: wall(it.ends_at),
  };
};
