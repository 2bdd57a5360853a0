/** Applies space and role of the reader in one place, so that no page can forget it. */
import { mayDo, roleFor } from "../../domain/roles.ts";
import type { Permission } from "../../../protocol/roles.ts";
import { spaceOf, type UserCaller } from "../../services/callers.ts";
import type { PagePermissions } from "../page-permissions.ts";

/** The slug of the team in which a caller acts; null: their personal space. */
export const teamOf = (caller: UserCaller): string | null => spaceOf(caller)?.slug ?? null;

/** The caller with the role in the whole space, for what belongs to no zone. */
export const inWholeSpace = (caller: UserCaller): UserCaller => ({
  ...caller,
  role: spaceOf(caller)?.role ?? "none",
});

/** Whether the reader may open a page by its role in the space, or sees there what is in its zones. */
export function mayOpen(caller: UserCaller, permissions: PagePermissions, path: string): boolean {
  const needed = permissions.of("GET", path);
  return needed === undefined || mayDo(inWholeSpace(caller), needed.permission);
}

/** Pages whose address names no thing: `?team=` says whose things they show. */
const withoutId =
  /^\/(?:teams|(?:zones|jobs|workers|identities|variable-sets|connections|notifications|schedules|pull-requests|audit|settings|search)(?:\/[a-z-]+)*)?(?=[?#]|$)/;

/** The address of such a page for a team; any other address unchanged. */
export function inTeam(address: string, team: string | null): string {
  if (team === null || !withoutId.test(address)) return address;
  // Not of an entity such as &#39;.
  const [before = "", hash] = address.split(/(?<!&)#/);
  const [path = "", query = ""] = before.split("?");
  if (/(^|&)(amp;)?team=/.test(query)) return address;
  const rest = query === "" ? "" : `&${query}`;
  return `${path}?team=${team}${rest}${hash === undefined ? "" : `#${hash}`}`;
}

/** The page with links and forms that stay in the space, and without buttons that would be refused. */
export function fitToSpace(page: string, caller: UserCaller, permissions: PagePermissions): string {
  const team = teamOf(caller);
  const linked =
    team === null
      ? page
      : page
          .replaceAll(/ (href|action)="([^"]*)"/g, (whole, name: string, address: string) =>
            address.startsWith("/") ? ` ${name}="${inTeam(address, team)}"` : whole,
          )
          // A browser replaces the query of such an address by the fields.
          .replaceAll(
            /<form\s+method="get"\s+action="([^"]*\?team=[^"]*)"[^>]*>/g,
            (form) => `${form}<input type="hidden" name="team" value="${team}" />`,
          );
  const whole = inWholeSpace(caller);
  const lacking = (needed: ReturnType<PagePermissions["of"]>): string | undefined => {
    if (needed === undefined) return undefined;
    const role = roleFor(needed.inZones ? caller : whole, needed.permission);
    // A role in a zone would be taken for it.
    return role && !needed.inZones && caller.role !== whole.role
      ? `${role} in the whole team`
      : role;
  };
  return linked
    .replaceAll(
      /<form\s+method="post"\s+action="([^"]*)"[^>]*>.*?<\/form>/gs,
      (form, action: string) => {
        // What a form of a job needs depends on the job.
        const [, needs] = /^<form\s[^>]*data-needs="(\w+)"/.exec(form) ?? [];
        return withoutRefused(
          form,
          needs === undefined
            ? lacking(permissions.of("POST", action))
            : roleFor(caller, needs as Permission),
        );
      },
    )
    .replaceAll(
      /<a\s([^>]*)href="([^"]*)"[^>]*>([^<]*)<\/a\s*>/g,
      (link, start, address, words) => {
        const needed = permissions.of("GET", address);
        const role = lacking(needed);
        // A name of something that the reader's zones use.
        if (role !== undefined && needed?.permission === "read") return words;
        return asRefused(link, { start, words }, role);
      },
    );
}

/** The form. If the caller lacks its role, buttons and boxes are off, and the role is named. */
function withoutRefused(form: string, role: string | undefined): string {
  return role === undefined
    ? form
    : form
        .replaceAll("<button", `<button disabled title="Needs the role ${role}"`)
        .replaceAll(/<input\s+type="checkbox"/g, (box) => `${box} disabled`)
        // Below the last button, not below the boxes to tick that follow it.
        .replace(lastButton, (end) => `${end}<small class="needs">Needs the role ${role}</small>`);
}

const lastButton = /.*<\/button\s*>/s;

/** A link. If the caller lacks the role for what it leads to, it leads nowhere and the role is named. */
function asRefused(
  link: string,
  { start, words }: Readonly<Record<"start" | "words", string>>,
  role: string | undefined,
): string {
  return role === undefined
    ? link
    : `<span><a ${start}role="link" aria-disabled="true" title="Needs the role ${role}">${words}</a>
        <small class="needs">Needs the role ${role}</small></span>`;
}
