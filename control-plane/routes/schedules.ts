import { list } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import { runSchedule } from "../services/schedules/rounds.ts";
import {
  createSchedule,
  deleteSchedule,
  getSchedule,
  listSchedules,
  updateSchedule,
} from "../services/schedules/schedules.ts";

export const scheduleRoutes = (context: Context) =>
  ({
    listSchedules: async ({ caller, query }) =>
      list((before, limit) => listSchedules(context, caller, query, before, limit)),
    createSchedule: ({ caller, body }) => createSchedule(context, caller, body),
    getSchedule: ({ caller, params }) => getSchedule(context, caller, params.id),
    updateSchedule: ({ caller, params, body }) => updateSchedule(context, caller, params.id, body),
    deleteSchedule: ({ caller, params }) => deleteSchedule(context, caller, params.id),
    runSchedule: ({ caller, params }) => runSchedule(context, caller, params.id),
  }) satisfies Partial<Routes>;
