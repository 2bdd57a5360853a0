import { validate } from "uuid";
import { auditActions } from "../../../protocol/audit.ts";
import { time } from "../../domain/moments.ts";
import { findAuditPage, findExisting } from "../../services/audit/audit.ts";
import type { Context } from "../../services/context.ts";
import { endOf, startOf } from "../jobs/jobs-filter.ts";
import type { SignedIn } from "../signed-in.ts";
import { auditPage, type AuditQuery } from "./audit-page.ts";

/** Audit entries of a page. */
const shown = 50;
/** Characters of a name that are read. */
const nameLimit = 320;

export function auditPages(pages: SignedIn, context: Context): void {
  pages.get("/audit", "listAuditEntries", async (caller, { query: given }) => {
    const query = readQuery(given as Record<string, unknown>);
    const { before } = given as Record<string, unknown>;
    const page = await findAuditPage(context, caller, {
      action: auditActions.find((one) => one === query.action),
      actor: query.by,
      since: startOf(query.since),
      until: endOf(query.until),
      before: typeof before === "string" && validate(before) ? before : undefined,
      limit: shown,
    });
    const existing = await findExisting(context, caller, page.entries);
    const now = time(context.now());
    const body = auditPage({ ...page, existing, query, email: caller.email, now });
    return { title: "Audit", body, at: "/audit" };
  });
}

/** What is not valid filters nothing. */
function readQuery(given: Record<string, unknown>): AuditQuery {
  const text = (name: string): string => {
    const value = given[name];
    return typeof value === "string" ? value.trim().slice(0, nameLimit) : "";
  };
  const [action, by, since, until] = ["action", "by", "since", "until"].map(text) as [
    string,
    string,
    string,
    string,
  ];
  return {
    ...(auditActions.some((one) => one === action) && { action }),
    ...(by !== "" && { by }),
    ...(startOf(since) !== undefined && { since }),
    ...(startOf(until) !== undefined && { until }),
  };
}
