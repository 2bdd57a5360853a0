/** When a configuration is destroyed by itself: a schedule with its id that comes once. */
import { day } from "../../../common/units.ts";
import { momentOf } from "../../domain/moments.ts";
import { invalid } from "../../domain/refusal.ts";
import { checkPermission } from "../../domain/roles.ts";
import type { SpecRow } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import {
  deleteSchedule,
  insertSchedule,
  newSchedule,
  saveExpiry,
} from "../../store/schedules/schedules.ts";
import type { UserCaller } from "../callers.ts";

/** Who is told before. */
const warningMilliseconds = day;
const farthestMilliseconds = 3660 * day;

/** What the audit log and jobs call it. */
const expiryName = "expiry";

/** Returns what the audit log says of it. `text`: undefined leaves it, null ends it. */
export async function applyExpiry(
  tx: Queries,
  user: UserCaller,
  { id, owner_id, expires_at }: Pick<SpecRow, "id" | "owner_id" | "expires_at">,
  text: string | null | undefined,
  now: number,
): Promise<{ readonly expires_at?: string }> {
  const at = text === null ? null : momentOf("body.expires_at", text);
  if (at === undefined || at === expires_at) return {};
  checkPermission(user, "deploy");
  if (at !== null && (at <= now || at > now + farthestMilliseconds))
    throw invalid("body.expires_at", "must be in the future, and at most ten years ahead");
  await deleteSchedule(tx, id);
  await saveExpiry(tx, id, at);
  if (at === null) return { expires_at: "ended" };
  await insertSchedule(tx, {
    ...newSchedule,
    id,
    owner_id,
    name: expiryName,
    kind: "destroy",
    spec_id: id,
    cron: null,
    timezone: "UTC",
    author_id: user.user_id,
    moment: at,
    look_at: at - warningMilliseconds,
    warn_at: at - warningMilliseconds,
    created_at: now,
    updated_at: now,
  });
  return { expires_at: new Date(at).toISOString() };
}
