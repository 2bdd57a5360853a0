/** Whether a person who came through a provider may use this server: WINDLASS_SIGN_IN_ALLOW. */
import type { ProviderName, ProviderSettings } from "../../domain/providers.ts";
import { allowsAddress, type SignInRule } from "../../domain/sign-in-allow.ts";
import { isInAnyGroup } from "./group-membership.ts";
import type { ProviderTokens } from "./oauth-client.ts";
import type { ProviderPerson } from "./provider-person.ts";

/** Asks the provider about groups only where no address is allowed. Throws `provider_unavailable`. */
export async function mayUse(
  rules: readonly SignInRule[],
  provider: ProviderName,
  settings: ProviderSettings,
  { subject, verified }: Pick<ProviderPerson, "subject" | "verified">,
  { access_token: token }: ProviderTokens,
): Promise<boolean> {
  if (allowsAddress(rules, verified)) return true;
  const groups = rules.filter((rule) => rule.kind === "group" && rule.provider === provider);
  return isInAnyGroup(groups as Extract<SignInRule, { kind: "group" }>[], settings, {
    subject,
    token,
  });
}
