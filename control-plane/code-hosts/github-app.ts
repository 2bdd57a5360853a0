/** An App of GitHub: how it proves itself, its installation, its webhook, and how it is made. */
import { SignJWT, importPKCS8 } from "jose";
import { createPrivateKey } from "node:crypto";
import { Type, type Static } from "typebox";
import type { HostPermission } from "./code-host.ts";
import { githubNeeds } from "./github.ts";
import { HostError, type HostCalls } from "./host-calls.ts";

const Token = Type.Object({ token: Type.String(), expires_at: Type.String() });
const NewApp = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  html_url: Type.String(),
  pem: Type.String(),
  // None without a webhook.
  webhook_secret: Type.Union([Type.String(), Type.Null()]),
});

export interface App {
  readonly id: string;
  /** PEM, PKCS#1 as GitHub makes it, or PKCS#8. */
  readonly private_key: string;
}

/** Proves to be the App, for nine minutes; GitHub takes ten at most, and clocks differ. */
export async function appToken({ id, private_key }: App, now: number): Promise<string> {
  const pkcs8 = createPrivateKey(private_key).export({ type: "pkcs8", format: "pem" }).toString();
  const seconds = Math.floor(now / 1000);
  return new SignJWT()
    .setProtectedHeader({ alg: "RS256" })
    .setIssuer(id)
    .setIssuedAt(seconds - 30)
    .setExpirationTime(seconds + 540)
    .sign(await importPKCS8(pkcs8, "RS256"));
}

/** A token of an installation for one hour; with `repository`, one that only reads its files. */
export function installationToken(
  calls: HostCalls,
  installation: string,
  repository?: string,
): Promise<Static<typeof Token>> {
  const limits =
    repository === undefined
      ? {}
      : { repository_ids: [Number(repository)], permissions: { contents: "read" } };
  const path = `/app/installations/${encodeURIComponent(installation)}/access_tokens`;
  return calls.send("POST", path, limits, Token);
}

/** The App that a person has made from a manifest. The code is exchanged once, without a credential. */
export const newApp = (calls: HostCalls, code: string): Promise<Static<typeof NewApp>> =>
  calls.send("POST", `/app-manifests/${encodeURIComponent(code)}/conversions`, {}, NewApp);

/** The only installation of an App: its own key alone can list them. */
export async function onlyInstallation(calls: HostCalls): Promise<string> {
  const found = await calls.get(
    "/app/installations?per_page=2",
    Type.Array(Type.Object({ id: Type.Integer() })),
  );
  const [first] = found;
  if (!first)
    throw new HostError("the App is not installed yet: install it for the repositories to follow");
  if (found.length > 1)
    throw new HostError("the App is installed more than once: set `app.installation_id`");
  return String(first.id);
}

export async function setAppWebhook(calls: HostCalls, url: string, secret: string): Promise<void> {
  const body = { url, content_type: "json", insecure_ssl: "0", secret };
  await calls.ask("/app/hook/config", { method: "PATCH", body });
}

/** What the App may do, as the host says it. */
export async function checkApp(calls: HostCalls): Promise<{
  account: string;
  permissions: HostPermission[];
}> {
  const { name, permissions } = await calls.get(
    "/app",
    Type.Object({
      name: Type.String(),
      permissions: Type.Record(Type.String(), Type.String()),
    }),
  );
  return {
    account: name,
    // An App has a webhook of its own.
    permissions: Object.entries(githubNeeds)
      .filter(([permission]) => permission !== "repository_hooks")
      .map(([permission, [level, prevents]]) => ({
        name: `${permission}: ${level}`,
        present: permissions[permission] === level || permissions[permission] === "write",
        prevents,
      })),
  };
}
