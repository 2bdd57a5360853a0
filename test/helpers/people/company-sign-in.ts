/** People who sign in to a plane with the provider of a company. */
import { randomUUID } from "node:crypto";
import { signInRule } from "../../../control-plane/domain/sign-in-allow.ts";
import { ask, readRows, setRows, type Plane } from "../plane/plane.ts";
import type { CompanyProvider } from "./company-provider.ts";
import { TestBrowser } from "./providers.ts";
import { agedHeaders } from "./sign-in.ts";

/** WINDLASS_PUBLIC_URL of the plane. Nothing listens there: the test's browser goes on at the plane. */
export const publicUrl = "http://127.0.0.1:47393";
const minute = 60_000;
const noProvider = (): never => {
  throw new Error("this file has another provider");
};

export type SignedInHeaders = { readonly cookie: string; readonly origin: string };

export function companySignIn(plane: Plane, provider: () => CompanyProvider = noProvider) {
  const isIn = async (headers: SignedInHeaders) =>
    (await ask(plane, "GET", "/settings", { headers })).status === 200;
  return {
    allow: (...entries: string[]) =>
      Object.assign(plane.context, { signInAllow: entries.map((text) => signInRule(text)) }),
    /** Another person, who signs in from now on. */
    person: (claims: Readonly<Record<string, unknown>> = {}) => {
      const company = provider();
      company.subject = randomUUID();
      const email = `${company.subject}@example.com`;
      company.people.set(company.subject, { email, email_verified: true, ...claims });
      return { subject: company.subject, email };
    },
    enter: async (browser = new TestBrowser(), name = "oidc") => {
      const { url } = await browser.visit(
        `${plane.url}/api/auth/login/${name}?next=/settings`,
        (next) => next.startsWith(publicUrl),
      );
      const visit = await browser.visit(url.replace(publicUrl, plane.url));
      const jar = browser.jars.get(new URL(plane.url).host);
      const cookie = `windlass_session=${jar?.get("windlass_session") ?? ""}`;
      return { ...visit, browser, headers: { cookie, origin: plane.url } };
    },
    isIn,
    /** As a minute later, when the session is renewed. */
    staysIn: async (headers: SignedInHeaders) =>
      isIn(await agedHeaders(plane, headers, 2 * minute)),
    sessionsOf: (subject: string) => readRows(plane, "provider_sessions", { subject }),
    /** The provider was asked and answered so long ago. */
    wait: (subject: string, milliseconds: number) => {
      const at = plane.context.now() - milliseconds;
      const change = { asked_at: at, answered_at: at };
      return setRows(plane, "provider_sessions", change, { subject });
    },
  };
}
