/** With which providers a person signs in, and could. */
import { time } from "../../domain/moments.ts";
import {
  accountsOf,
  providerNames,
  titleOf,
  type AccountProvider,
  type ProviderName,
} from "../../domain/providers.ts";
import { listAccounts } from "../../store/people/accounts.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

/** The providers that are enabled, with the hosts of their accounts. */
export const offeredProviders = (context: Context): OfferedProvider[] =>
  providerNames.flatMap((name) => {
    const settings = context.providers[name];
    if (!settings) return [];
    return [{ name, title: titleOf(name, settings), ...accountsOf(name, settings) }];
  });

export interface OfferedProvider {
  readonly name: ProviderName;
  readonly title: string;
  readonly provider: AccountProvider;
  readonly host: string;
}

export interface ConnectedAccount {
  readonly provider: AccountProvider;
  readonly host: string;
  readonly email: string;
  readonly connected_at: string;
}

export async function listOwnAccounts(
  { store }: Context,
  { user_id }: UserCaller,
): Promise<ConnectedAccount[]> {
  const accounts = await listAccounts(store.read, user_id);
  return accounts.map(({ created_at, ...account }) => ({
    ...account,
    connected_at: time(created_at),
  }));
}
