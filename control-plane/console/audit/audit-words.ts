import type { AuditAction, AuditActorKind, AuditEntry } from "../../../protocol/audit.ts";
import type { JobType } from "../../../protocol/jobs.ts";
import { isLookedFor, type LookedFor } from "../../services/audit/audit.ts";
import { html, type Html } from "../page/html.ts";

/** What follows the name of who did it; `*` is the name of the target. */
const phrases: Readonly<Record<AuditAction, string>> = {
  "login_link.create": "created a sign-in link for *",
  "login.create": "signed in",
  "login.revoke": "ended a login",
  "access_token.create": "created the access token *",
  "access_token.revoke": "revoked the access token *",
  "team.create": "created the team *",
  "team.update": "changed the team *",
  "team.delete": "deleted the team *",
  "team.set_groups": "changed the groups of the team *",
  "member.join": "joined the team",
  "member.update": "changed the role of *",
  "member.remove": "removed * from the team",
  "invitation.create": "invited *",
  "invitation.revoke": "revoked the invitation of *",
  "account.connect": "connected the account *",
  "user.sign_out": "ended all logins of *",
  "user.block": "blocked *",
  "user.unblock": "unblocked *",
  "device_code.approve": "signed in a client",
  "device_code.burn": "guessed a device code wrong until it was void",
  "registration_token.create": "created a registration token",
  "registration_token.revoke": "revoked a registration token",
  "worker.register": "registered the worker *",
  "worker.rotate_token": "replaced the token of the worker *",
  "worker.update": "changed the worker *",
  "worker.drain": "drained the worker *",
  "worker.undrain": "let the worker * take jobs again",
  "worker.remove": "removed the worker *",
  "zone.create": "created the zone *",
  "zone.update": "changed the zone *",
  "zone.delete": "deleted the zone *",
  "zone.move": "moved the zone *",
  "configuration.create": "created the configuration *",
  "configuration.update": "changed the configuration *",
  "configuration.delete": "deleted the configuration *",
  "cloud_identity.create": "created the cloud identity *",
  "cloud_identity.update": "changed the cloud identity *",
  "cloud_identity.delete": "deleted the cloud identity *",
  "schedule.create": "created the schedule *",
  "schedule.update": "changed the schedule *",
  "schedule.delete": "deleted the schedule *",
  "schedule.run": "ran the schedule *",
  "connection.create": "created the connection *",
  "connection.update": "changed the connection *",
  "connection.rotate_secret": "replaced the secret of the connection *",
  "connection.delete": "deleted the connection *",
  "pull_request.approve": "let a commit of the pull request * be planned",
  "notification.create": "created the notification rule *",
  "notification.update": "changed the notification rule *",
  "notification.rotate_secret": "replaced the secret of the notification rule *",
  "notification.delete": "deleted the notification rule *",
  "variable_set.create": "created the variable set *",
  "variable_set.update": "changed the variable set *",
  "variable_set.delete": "deleted the variable set *",
  "variable_set.attach": "attached the variable set *",
  "variable_set.detach": "detached the variable set *",
  "archive.upload": "uploaded an archive",
  "job.create": "queued the *",
  "job.retry": "queued the * again",
  "job.cancel": "cancelled the *",
  "job.approve": "approved the *",
  "job.reject": "rejected the *",
  "job.end": "ended the *",
  "job.lose": "gave up the *, whose runner was lost",
  "job.release": "released the *, whose runner did not end it",
  "job.download_debug_log": "downloaded the debug log of the *",
  "state.download": "downloaded the state of *",
  "state.push": "stored a state of *",
  "state.roll_back": "rolled back the state of *",
  "state.unlock": "unlocked the state of *",
  "release.publish": "published the release *",
};

const jobs: Readonly<Record<JobType, string>> = {
  PLAN: "plan",
  DEPLOY: "deployment",
  DESTROY: "destruction",
  DESTROY_WORKER: "teardown",
};

/** Those of actors that have no name of their own, or need another word before it. */
const actors: Readonly<Partial<Record<AuditActorKind, string>>> = {
  worker: "The worker ",
  registration_token: "A registration token",
  pipeline: "The release pipeline",
  operator: "An operator",
  system: "Windlass",
  anonymous: "A person who is not signed in",
};

const pages: Readonly<Record<LookedFor, string>> = {
  configuration: "configurations",
  state: "configurations",
  zone: "zones",
  worker: "workers",
  variable_set: "variable-sets",
  cloud_identity: "identities",
};

/** `existing`: the ids of what still has a page. */
export function sentenceOf(entry: AuditEntry, existing: ReadonlySet<string>): Html {
  const { action, actor } = entry;
  const [before, after] = phrases[action].split("*");
  const who = html`<strong>${actors[actor.kind]}${actor.name}</strong>`;
  return html`${who} ${before}${after === undefined ? null : targetOf(entry, existing)}${after}`;
}

/** Jobs stay; other things that have a page have a link as long as they exist. */
function targetOf(
  { action, target, configuration }: AuditEntry,
  existing: ReadonlySet<string>,
): Html | string {
  const { kind, id, name } = target;
  const linked = (of: LookedFor, to: string | null, text: string): Html | string =>
    to !== null && existing.has(to) ? html`<a href="/${pages[of]}/${to}">${text}</a>` : text;
  if (kind !== "job" || id === null) {
    const text = name ?? (action.startsWith("invitation.") ? "a person by a link" : (id ?? "–"));
    return isLookedFor(kind) ? linked(kind, id, text) : text;
  }
  const of = configuration?.name ?? null;
  return html`<a href="/jobs/${id}">${jobs[name as JobType] ?? "job"}</a
    >${of === null ? null : html` of ${linked("configuration", configuration?.id ?? null, of)}`}`;
}

/** What the sentence does not say already; the name of a thing in place of its id. */
export const detailsOf = ({ action, details, configuration, ip_address }: AuditEntry): string[] => [
  ...Object.entries(details)
    .filter(([name]) => name !== "status" || action !== "job.end")
    .filter(([name]) => name !== "configuration_id" || !configuration?.name)
    .filter(([name]) => !name.endsWith("_id") || !(name.replace(/_id$/, "_name") in details))
    .map(([name, value]) => `${name.replace(/_name$/, "")}: ${String(value)}`),
  ...(ip_address === null ? [] : [`from ${ip_address}`]),
  action,
];
