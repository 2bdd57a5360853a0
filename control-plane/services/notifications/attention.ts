/** Notification rules that need a person. */
import type { Notification } from "../../../protocol/notifications.ts";
import { time } from "../../domain/moments.ts";
import { findFailingRules } from "../../store/notifications/rules.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

export type FailingRule = Pick<Notification, "id" | "name" | "enabled"> &
  NonNullable<Notification["error"]>;

export async function listFailingRules(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<FailingRule[]> {
  const rows = await read.all(findFailingRules, { owner, limit });
  return rows.map(({ id, name, enabled, error, error_since, updated_at }) => ({
    id,
    name,
    enabled: enabled === 1,
    message: error ?? "",
    since: time(error_since ?? updated_at),
  }));
}
