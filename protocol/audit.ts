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

/** Recorded actions, as `noun.verb`; the noun is the kind of the target. See docs/audit.md. */
export const auditActions = [
  "login_link.create",
  "login.create",
  "login.revoke",
  "access_token.create",
  "access_token.revoke",
  "team.create",
  "team.update",
  "team.delete",
  "team.set_groups",
  "member.join",
  "member.update",
  "member.remove",
  "invitation.create",
  "invitation.revoke",
  "account.connect",
  "user.sign_out",
  "user.block",
  "user.unblock",
  "device_code.approve",
  "device_code.burn",
  "registration_token.create",
  "registration_token.revoke",
  "worker.register",
  "worker.rotate_token",
  "worker.update",
  "worker.drain",
  "worker.undrain",
  "worker.remove",
  "zone.create",
  "zone.update",
  "zone.delete",
  "zone.move",
  "configuration.create",
  "configuration.update",
  "configuration.delete",
  "cloud_identity.create",
  "cloud_identity.update",
  "cloud_identity.delete",
  "connection.create",
  "connection.update",
  "connection.rotate_secret",
  "connection.delete",
  "pull_request.approve",
  "notification.create",
  "notification.update",
  "notification.rotate_secret",
  "notification.delete",
  "schedule.create",
  "schedule.update",
  "schedule.delete",
  "schedule.run",
  "variable_set.create",
  "variable_set.update",
  "variable_set.delete",
  "variable_set.attach",
  "variable_set.detach",
  "archive.upload",
  "job.create",
  "job.retry",
  "job.cancel",
  "job.approve",
  "job.reject",
  "job.end",
  "job.lose",
  "job.release",
  "job.download_debug_log",
  "state.download",
  "state.push",
  "state.roll_back",
  "state.unlock",
  "release.publish",
] as const;
export const AuditAction = OneOf(auditActions);
export type AuditAction = Static<typeof AuditAction>;

/** How the actor authenticated. */
export const AuditActorKind = OneOf([
  /** A user's browser; the id is the login's, as in GET /api/cli/logins. */
  "session",
  /** A user's command line; the id is the login's. */
  "cli_login",
  /** An access token; the name has its own name and its creator. */
  "access_token",
  "worker",
  /** The id is the start of the token's hash: the target of its `registration_token.create`. */
  "registration_token",
  /** A caller with RELEASE_API_SECRET. */
  "pipeline",
  /** A connection to a code host, whose event or poll caused it. */
  "connection",
  /** A schedule, or the end of a configuration; its jobs are the targets. */
  "schedule",
  /** A command on the server's machine. */
  "operator",
  /** A periodic task of the control plane. */
  "system",
  /** An unauthenticated caller, as with wrong verification codes. */
  "anonymous",
]);
export type AuditActorKind = Static<typeof AuditActorKind>;

const Reference = { id: Nullable(Type.String()), name: Nullable(Type.String()) };

export const AuditEntry = Type.Object({
  id: Uuid,
  created_at: Timestamp,
  action: AuditAction,
  actor: Type.Object({ kind: AuditActorKind, ...Reference }),
  target: Type.Object({ kind: Type.String(), ...Reference }),
  configuration: Type.Optional(
    about(
      Type.Object(Reference),
      "If the target is a job: the configuration that it runs, and its name when the job was created.",
    ),
  ),
  details: JsonObject,
  ip_address: about(Nullable(Type.String()), "Null if no request caused the entry."),
  user_agent: about(Nullable(Type.String()), "At most 256 characters; null if none was sent."),
  request_id: about(Nullable(Type.String()), "The same as in the server's log lines."),
});
export type AuditEntry = Static<typeof AuditEntry>;

export const auditEndpoints = {
  listAuditEntries: endpoint("GET /api/cli/audit", {
    summary: "List audit entries of the user's resources, newest first",
    permission: "read",
    query: {
      action: Type.Optional(about(AuditAction, "Only this action.")),
      target_id: Type.Optional(
        about(
          Type.String({ minLength: 1, maxLength: 200 }),
          "Only actions on the resource with this id.",
        ),
      ),
      since: Type.Optional(about(Timestamp, "Only at or after this time.")),
      until: Type.Optional(about(Timestamp, "Only before this time.")),
      ...Paging,
    },
    answer: Type.Object({ audit_entries: Type.Array(AuditEntry), next_cursor: NextCursor }),
  }),
};
