/** Whether the sign-in providers of the settings answer, and what the issuer's address is good for. */
import { finding, ok, type Finding } from "../../../common/doctor/finding.ts";
import { issuerFault } from "../../../protocol/identity-kinds.ts";
import type { ServerConfig } from "../../config.ts";
import { isOidc, providerNames, titleOf, type ProviderSettings } from "../../domain/providers.ts";
import { discovered } from "../../services/people/oauth-client.ts";
import { askProvider } from "../../services/people/provider-http.ts";
import type { Answer } from "./server-checks.ts";

export interface AskedProvider {
  readonly found: Finding;
  readonly answer?: { readonly name: string; readonly answer: Answer };
}

/** One finding for each provider. */
export async function providers({ providers: on }: ServerConfig): Promise<AskedProvider[]> {
  const asked = providerNames.flatMap((name) => {
    const settings = on[name];
    if (!settings) return [];
    return [isOidc(name) ? oidc(name, settings) : Promise.resolve(other(name, settings))];
  });
  if (asked.length > 0) return Promise.all(asked);
  const text = "no provider is set: people sign in by links of windlass server login-link";
  return [{ found: finding("sign-in", "skipped", text) }];
}

const other = (name: Parameters<typeof titleOf>[0], settings: ProviderSettings): AskedProvider => ({
  found: finding("sign-in", "skipped", `${titleOf(name, settings)} is asked at a sign-in only`),
});

async function oidc(
  name: Parameters<typeof discovered>[0],
  settings: ProviderSettings,
): Promise<AskedProvider> {
  const issuer = settings.baseUrl ?? "";
  const check = "sign-in";
  try {
    const metadata = await discovered(name, settings);
    const keys = metadata.jwks_uri;
    if (keys === undefined)
      return { found: finding(check, "failed", `${name}: ${issuer} publishes no keys`) };
    const asked = Date.now();
    const { status, headers } = await askProvider(settings, keys);
    const answer = { status, date: headers.get("date"), askedAt: (asked + Date.now()) / 2 };
    const of = { answer: { name: issuer, answer } };
    if (status !== 200)
      return { found: finding(check, "failed", `${name}: ${keys} responds ${status}`), ...of };
    const lacks = [
      ...(metadata.end_session_endpoint === undefined ? ["logout at the provider"] : []),
      ...(metadata["backchannel_logout_supported"] === true ? [] : ["back-channel logout"]),
      ...(metadata.code_challenge_methods_supported?.includes("S256") === false
        ? ["PKCE with S256"]
        : []),
    ];
    const text = `${name}: ${issuer} responds${lacks.length > 0 ? `; it does not offer ${lacks.join(", ")}` : ""}`;
    return { found: ok(check, text), ...of };
  } catch (error) {
    const text = `${name}: ${issuer}: ${(error as Error).message}`;
    const advice = "check the address, and that this machine reaches it (HTTPS_PROXY)";
    return { found: finding(check, "failed", text, advice) };
  }
}

/** Where clouds read the keys of the tokens for jobs. */
export function issuer({ issuerUrl, publicUrl }: ServerConfig): Finding {
  const check = "issuer";
  const address = issuerUrl ?? publicUrl;
  if (address === undefined)
    return finding(check, "skipped", "neither WINDLASS_ISSUER_URL nor WINDLASS_PUBLIC_URL is set");
  const fault = issuerFault("aws_web_identity", address);
  if (fault === undefined) return ok(check, address);
  return finding(
    check,
    "warning",
    `${address} is refused by AWS for tokens of jobs: ${fault}`,
    "set WINDLASS_ISSUER_URL if jobs sign in to a cloud with such tokens",
  );
}
