import { givableRoles } from "../../domain/roles.ts";
import { listOwnAccounts, offeredProviders } from "../../services/people/connected-accounts.ts";
import {
  accessTokensLimit,
  createAccessToken,
  listAccessTokens,
  revokeAccessToken,
} from "../../services/people/access-tokens.ts";
import type { Context } from "../../services/context.ts";
import { endOwnLogin, listLogins } from "../../services/people/logins.ts";
import { isOperator } from "../../services/people/operators.ts";
import { listZoneNames } from "../../services/zones/zones.ts";
import { zonesOffered } from "../teams/zone-role-fields.ts";
import { idIn } from "../page/list.ts";
import {
  accessTokensSection,
  createdTokenPage,
  newTokenFields,
  tokenOf,
} from "./access-tokens-view.ts";
import { settingsPage } from "./settings-page.ts";
import type { SignedIn } from "../signed-in.ts";
import { time } from "../../domain/moments.ts";

const frame = { at: "/settings" };

export function peoplePages(pages: SignedIn, context: Context): void {
  pages
    .page("/settings", "account", {
      draw: async (_, { caller, forms }) => {
        const [accounts, logins, isOperating, tokens] = await Promise.all([
          listOwnAccounts(context, caller),
          listLogins(context, caller, undefined, 1000),
          isOperator(context, context.store.read, caller),
          listAccessTokens(context, caller, undefined, accessTokensLimit),
        ]);
        const givable = givableRoles(caller);
        const zones = await listZoneNames(context, caller, zonesOffered);
        const form = forms("token", newTokenFields(givable));
        const now = time(context.now());
        const body = settingsPage({
          email: caller.email,
          accounts,
          offered: offeredProviders(context),
          logins,
          isOperator: isOperating,
          accessTokens: accessTokensSection(tokens, { givable, zones }, form, now),
        });
        return { ...frame, title: "Settings", body };
      },
    })
    .form("token", "createAccessToken", {
      path: "/access-tokens",
      input: tokenOf,
      submit: async ({ caller, input }) => {
        const token = await createAccessToken(context, caller, input());
        const zones = await listZoneNames(context, caller, zonesOffered);
        const body = createdTokenPage(token, zones, context.publicUrl());
        return { ...frame, title: "A new access token", body };
      },
    });
  pages.post(
    "/settings/access-tokens/:id/revoke",
    "revokeAccessToken",
    async (caller, { params }) => {
      await revokeAccessToken(context, caller, idIn(params, "access token"));
      return "/settings#access-tokens";
    },
  );
  pages.post("/settings/logins/:id/revoke", "revokeLogin", async (caller, { params }) => {
    await endOwnLogin(context, caller, idIn(params, "login"));
    return "/settings";
  });
}
