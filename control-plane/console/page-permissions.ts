/**
 * What a person needs for each page and form of the console: the permission of the endpoint that does
 * the same. The services check once more what depends on a job.
 */
import type { Permission } from "../../protocol/roles.ts";

/** Forms; every POST route of the console is here. */
const forms: Readonly<Record<string, Permission>> = {
  "/cli/login": "account",
  "/configurations/:id/approval": "administer",
  "/configurations/:id/backend_config": "configure",
  "/configurations/:id/delete": "administer",
  "/configurations/:id/edit": "configure",
  "/configurations/:id/environment": "configure",
  "/configurations/:id/jobs": "plan",
  "/configurations/:id/state/:serial/rollback": "deploy",
  "/configurations/:id/state/unlock": "deploy",
  "/configurations/:id/variable-sets": "configure",
  "/configurations/:id/variables": "configure",
  "/identities": "administer",
  "/identities/:id": "administer",
  "/identities/:id/delete": "administer",
  "/invitations/:token": "account",
  "/jobs/:id/approvals": "approve",
  "/jobs/:id/cancel": "plan",
  "/jobs/:id/deploy": "deploy",
  "/jobs/:id/retry": "plan",
  "/logout": "account",
  "/operator/people/:user/block": "account",
  "/operator/people/:user/sign-out": "account",
  "/operator/people/:user/unblock": "account",
  "/settings/access-tokens": "account",
  "/settings/access-tokens/:id/revoke": "account",
  "/settings/logins/:id/revoke": "account",
  "/teams": "account",
  "/teams/:slug": "members",
  "/teams/:slug/delete": "members",
  "/teams/:slug/invitations": "members",
  "/teams/:slug/invitations/:id/revoke": "members",
  "/teams/:slug/members/:user": "members",
  // Everyone may leave; the service checks who removes another member.
  "/teams/:slug/members/:user/remove": "account",
  "/variable-sets": "configure",
  "/variable-sets/:id": "configure",
  "/variable-sets/:id/configurations": "configure",
  "/variable-sets/:id/delete": "administer",
  "/variable-sets/:id/environment": "configure",
  "/variable-sets/:id/variables": "configure",
  "/variable-sets/:id/zones": "configure",
  "/workers/:id/drain": "administer",
  "/workers/:id/edit": "administer",
  "/workers/:id/remove": "administer",
  "/workers/:id/rotate": "administer",
  "/workers/:id/teardown": "administer",
  "/workers/:id/undrain": "administer",
  "/workers/register": "administer",
  "/workers/revoke-token": "administer",
  "/zones": "configure",
  "/zones/:id": "configure",
  "/zones/:id/delete": "administer",
  "/zones/:id/new": "configure",
  "/zones/:id/team": "administer",
  "/zones/:id/variable-sets": "configure",
};

/** Pages that show only a form; a person who may not submit it does not need it. Other pages need `read`. */
const formPages: Readonly<Record<string, Permission>> = {
  "/zones/:id/new": "configure",
  "/configurations/:id/edit": "configure",
  "/workers/:id/edit": "administer",
  "/operator": "account",
  "/settings": "account",
};

/** The permission of a route. Throws for a form without one. */
export function permissionOfPage(method: "GET" | "POST", url: string): Permission {
  if (method === "GET") return formPages[url] ?? "read";
  const permission = forms[url];
  if (permission === undefined) throw new TypeError(`the form ${url} declares no permission`);
  return permission;
}

/** Downloads that need more than `read`. */
const downloads: Readonly<Record<string, Permission>> = {
  "/api/cli/configurations/:id/state/versions/:serial": "deploy",
  "/api/cli/jobs/:id/debug-log": "deploy",
};

/** The permission of the form with this address, such as `/zones/018f…/delete`. */
export const permissionOfForm = (address: string): Permission | undefined =>
  permissionAt(forms, address);

/** The permission of what a link leads to; undefined: it needs no role. */
export const permissionOfLink = (address: string): Permission | undefined =>
  permissionAt(formPages, address) ?? permissionAt(downloads, address);

function permissionAt(
  table: Readonly<Record<string, Permission>>,
  address: string,
): Permission | undefined {
  const [path = ""] = address.split(/[?#]/);
  if (Object.hasOwn(table, path)) return table[path];
  const parts = path.split("/");
  const url = Object.keys(table).find((one) => {
    const pattern = one.split("/");
    return (
      pattern.length === parts.length &&
      pattern.every((part, index) => part.startsWith(":") || part === parts[index])
    );
  });
  return url === undefined ? undefined : table[url];
}
