/** Every page of the console, for tests and screenshots. */
import { randomUUID } from "node:crypto";
import type { SampleUser } from "../plane/sample-data.ts";

/**
 * Name and path of each page. `jobs` are those of a filled fixture, `places` its zones and their
 * contents.
 */
export const pagesOf = (
  fixture: SampleUser,
  jobs: Record<string, string>,
  places: Record<string, string>,
): Record<string, string> => ({
  overview: "/",
  ...places,
  connections: "/connections",
  "connection-new": "/connections/new",
  notifications: "/notifications",
  "notification-new": "/notifications/new",
  schedules: "/schedules",
  "schedule-new": "/schedules/new",
  "pull-requests": "/pull-requests",
  jobs: "/jobs",
  ...Object.fromEntries(Object.entries(jobs).map(([name, id]) => [`job-${name}`, `/jobs/${id}`])),
  "plan-graph": `/jobs/${jobs["plan"]}/graph`,
  workers: "/workers",
  worker: `/workers/${fixture.worker}`,
  audit: "/audit",
  settings: "/settings",
  operator: "/operator",
  "cli-login": `/cli/login?device_code=${randomUUID()}`,
  "cli-refused": "/cli/login",
  login: "/login",
  "link-used": "/login/link/used",
  "no-page": "/nope",
  missing: `/jobs/${randomUUID()}`,
});
