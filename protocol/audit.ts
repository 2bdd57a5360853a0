/** The audit log: who did what to what, when, from where. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  about,
  JsonObject,
  NextCursor,
  Nullable,
  OneOf,
  Paging,
  Timestamp,
  Uuid,
} from "./fields.ts";

/** What is recorded, as `noun.verb`; the noun is the kind of the target. What each says: docs/audit.md. */
export const auditActions = [
  "login_link.create",
  "login.create",
  "login.revoke",
  "account.connect",
  "device_code.approve",
  "device_code.burn",
  "registration_token.create",
  "worker.register",
  "worker.rotate_token",
  "worker.update",
  "worker.drain",
  "worker.undrain",
  "worker.remove",
  "zone.create",
  "zone.update",
  "zone.delete",
  "configuration.create",
  "configuration.update",
  "configuration.delete",
  "cloud_identity.create",
  "cloud_identity.update",
  "cloud_identity.delete",
  "archive.upload",
  "job.create",
  "job.retry",
  "job.cancel",
  "job.end",
  "job.lose",
  "job.release",
  "job.download_debug_log",
  "state.download",
  "state.roll_back",
  "state.unlock",
  "release.publish",
] as const;
export const AuditAction = OneOf(auditActions);
export type AuditAction = Static<typeof AuditAction>;

/** How the actor showed who it is. */
export const AuditActorKind = OneOf([
  /** A person's browser; the id is the login's, as in GET /api/cli/logins. */
  "session",
  /** A person's command line; the id is the login's. */
  "cli_login",
  "worker",
  /** The id is the beginning of the token's hash: the target of the `registration_token.create` that made it. */
  "registration_token",
  /** Whoever has RELEASE_API_SECRET. */
  "pipeline",
  /** Somebody on the server's shell. */
  "operator",
  /** The control plane itself, on time. */
  "system",
  /** Nobody who could be told: wrong codes. */
  "anonymous",
]);
export type AuditActorKind = Static<typeof AuditActorKind>;

const Thing = { id: Nullable(Type.String()), name: Nullable(Type.String()) };

export const AuditEntry = Type.Object({
  id: Uuid,
  created_at: Timestamp,
  action: AuditAction,
  actor: Type.Object({ kind: AuditActorKind, ...Thing }),
  target: Type.Object({ kind: Type.String(), ...Thing }),
  details: JsonObject,
  ip_address: about(Nullable(Type.String()), "Null where no request asked for it."),
  user_agent: about(Nullable(Type.String()), "At most 256 characters; null where none was sent."),
  request_id: about(Nullable(Type.String()), "The same as in the server's log lines."),
});
export type AuditEntry = Static<typeof AuditEntry>;

export const auditEndpoints = {
  listAuditEntries: endpoint({
    method: "GET",
    path: "/api/cli/audit",
    summary: "List what was done to one's things, newest first",
    caller: "client",
    query: Type.Object({
      action: Type.Optional(about(AuditAction, "Only this action.")),
      target_id: Type.Optional(
        about(Type.String({ minLength: 1, maxLength: 200 }), "Only what was done to this thing."),
      ),
      since: Type.Optional(about(Timestamp, "From this moment on.")),
      until: Type.Optional(about(Timestamp, "Before this moment.")),
      ...Paging,
    }),
    status: 200,
    answer: Type.Object({ audit_entries: Type.Array(AuditEntry), next_cursor: NextCursor }),
  }),
};
