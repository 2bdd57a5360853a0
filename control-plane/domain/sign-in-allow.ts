/** The entries of WINDLASS_SIGN_IN_ALLOW, which decide who may sign in with a provider. Pure. */

import { isOidc, type OidcName } from "./providers.ts";

/** One entry. Addresses and domains are in lower case. */
export type SignInRule =
  /** Whose address is verified; with a provider: whom it signs in. */
  | { readonly kind: "everyone"; readonly provider?: OidcName }
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "domain"; readonly domain: string }
  | {
      readonly kind: "group";
      readonly provider: "github" | "gitlab" | OidcName;
      readonly group: string;
    };

/** Each group costs one request to the provider at every sign-in. */
export const signInGroupLimit = 20;

/** Reads an entry; undefined if it is not one. */
export function signInRule(text: string): SignInRule | undefined {
  if (text === "*") return { kind: "everyone" };
  const organisation = /^github:org\/([A-Za-z0-9][A-Za-z0-9-]{0,38})$/.exec(text)?.[1];
  if (organisation !== undefined) return { kind: "group", provider: "github", group: organisation };
  const path = /^gitlab:group\/(\w[\w.-]*(?:\/\w[\w.-]*)*)$/.exec(text)?.[1];
  if (path !== undefined) return { kind: "group", provider: "gitlab", group: path };
  const [, provider = "", of, name] = /^(oidc(?:_\d)?):(\*|group\/)(.*)$/.exec(text) ?? [];
  if (isOidc(provider) && of === "*" && name === "") return { kind: "everyone", provider };
  if (isOidc(provider) && of === "group/" && name !== "")
    return { kind: "group", provider, group: name! };
  if (!/^[^\s@:]*@[^\s@/:]+$/.test(text)) return undefined;
  return text.startsWith("@")
    ? { kind: "domain", domain: lowerCase(text.slice(1)) }
    : { kind: "address", address: lowerCase(text) };
}

/** Returns the entry that allows one of these verified addresses. */
export function findAllowing(
  rules: readonly SignInRule[],
  addresses: readonly string[],
): SignInRule | undefined {
  const all = addresses.map(lowerCase);
  return rules.find((rule) =>
    all.some(
      (address) =>
        (rule.kind === "everyone" && rule.provider === undefined) ||
        (rule.kind === "address" && rule.address === address) ||
        (rule.kind === "domain" && address.endsWith(`@${rule.domain}`)),
    ),
  );
}

/** Returns the entry that allows a person whom an OpenID Connect provider signs in with these groups. */
export const findOidcRule = (
  rules: readonly SignInRule[],
  name: OidcName,
  groups: readonly string[],
): SignInRule | undefined =>
  rules.find(
    (rule) =>
      (rule.kind === "everyone" && rule.provider === name) ||
      (rule.kind === "group" && rule.provider === name && groups.includes(rule.group)),
  );

export const allowsAddress = (
  rules: readonly SignInRule[],
  addresses: readonly string[],
): boolean => findAllowing(rules, addresses) !== undefined;

/** The entry as the setting has it. */
export function entryOf(rule: SignInRule): string {
  switch (rule.kind) {
    case "everyone":
      return rule.provider === undefined ? "*" : `${rule.provider}:*`;
    case "address":
      return rule.address;
    case "domain":
      return `@${rule.domain}`;
    case "group":
      return `${rule.provider}:${rule.provider === "github" ? "org" : "group"}/${rule.group}`;
  }
}

/** Only ASCII: other letters, such as the Kelvin sign, would become letters of another domain. */
export const lowerCase = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
