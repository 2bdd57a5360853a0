/** A control plane at which people sign in with GitHub and GitLab, for a test file. */
import { afterAll, beforeAll } from "vitest";
import { signInRule } from "../../../../control-plane/domain/sign-in-allow.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import {
  startOpenIdProvider,
  startPlainProvider,
  TestBrowser,
  type FakeProvider,
} from "../../../helpers/people/providers.ts";

const publicUrl = "http://127.0.0.1:47392";

export function providersForFile(more: Record<string, string> = {}) {
  const providers = {} as Record<"github" | "gitlab", FakeProvider>;
  beforeAll(async () => {
    providers.github = await startPlainProvider("github");
    providers.gitlab = await startOpenIdProvider(`${publicUrl}/api/auth/callback`);
  });
  afterAll(() => Promise.all(Object.values(providers).map(({ close }) => close())));
  const { plane } = planeForFile(() => ({
    GITHUB_CLIENT_ID: "client",
    GITHUB_CLIENT_SECRET: "client-secret",
    GITHUB_BASE_URL: providers.github.url,
    GITLAB_CLIENT_ID: "client",
    GITLAB_CLIENT_SECRET: "client-secret",
    GITLAB_BASE_URL: providers.gitlab.url,
    WINDLASS_PUBLIC_URL: publicUrl,
    ...more,
  }));
  let subject = 1000;

  /** Another person signs in from now on, whom nothing permits. Returns the subject. */
  function nextPerson(): number {
    subject += 1;
    for (const { person, others, memberships } of Object.values(providers)) {
      Object.assign(person, { subject: String(subject), email: "ada@example.com", verified: true });
      others.clear();
      memberships.clear();
    }
    allow();
    return subject;
  }

  /** Replaces the value of WINDLASS_SIGN_IN_ALLOW, which the server reads at its start. */
  const allow = (...entries: string[]) =>
    Object.assign(plane.context, { signInAllow: entries.map((text) => signInRule(text)) });

  /** `after`: the page that the sign-in leads to; `opens`: where it leads instead. */
  async function signIn(
    provider: "github" | "gitlab" = "github",
    browser = new TestBrowser(),
    after = "/settings",
    opens = after,
  ) {
    const isCallback = (url: string) => url.startsWith(publicUrl);
    const start = `${plane.url}/api/auth/login/${provider}?next=${after}`;
    const { url, way } = await browser.visit(start, isCallback);
    const scope = new URL(way[1] ?? "").searchParams.get("scope") ?? "";
    const visit = await browser.visit(url.replace(publicUrl, plane.url), (next) =>
      next.includes(opens),
    );
    return { ...visit, scope, isIn: visit.url.endsWith(opens) };
  }

  return { plane, providers, nextPerson, allow, signIn };
}
