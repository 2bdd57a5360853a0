import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Endpoint } from "../../../protocol/endpoint.ts";
import { endpoints } from "../../../protocol/endpoints.ts";
import { signInFlow } from "../../http/flow-cookie.ts";
import { authorization, checkPrefix, exchangeCode } from "../../services/people/oauth-client.ts";
import { personOf } from "../../services/people/provider-person.ts";
import { findSession, setSession } from "../../http/session.ts";
import { findGroup } from "../../services/people/sign-in-allow.ts";
import { allowsAddress, findOidcRule } from "../../domain/sign-in-allow.ts";
import type { ProblemCode } from "../../../protocol/problem.ts";
import { equalSecrets } from "../../../common/equal-secrets.ts";
import { isOidc, isProvider, titleOf } from "../../domain/providers.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { signInWithAccount, standingOf } from "../../services/people/accounts.ts";
import type { Context } from "../../services/context.ts";
import { findSignUp } from "../../services/teams/invitations.ts";
import { sendPage } from "../page/layout.ts";
import { nextOf } from "./next.ts";
import {
  doctorPage,
  failedSignInPage,
  missingGroupsPage,
  notAllowedPage,
} from "./sign-in-pages.ts";

const { startSignIn, finishSignIn } = endpoints;
const callbackPath = finishSignIn.path;

export function oauthRoutes(pages: FastifyInstance, context: Context): void {
  const callback = () => `${context.publicUrl()}${callbackPath}`;

  pages.get("/api/auth/login/:provider", optionsOf(startSignIn), async (request, reply) => {
    const { provider } = request.params as { provider: string };
    const settings = isProvider(provider) ? context.providers[provider] : undefined;
    if (!isProvider(provider) || !settings) throw notFound("sign-in provider on this server");
    const caller = await findSession(context, request, reply);
    // Another site must not add an account of its choice to a signed-in person.
    if (caller && request.headers["sec-fetch-site"] === "cross-site")
      throw new RefusalError("foreign_origin");
    try {
      // A person who is signed in connects the provider.
      const { url, ...challenge } = await authorization(provider, settings, callback(), {
        rules: context.signInAllow,
        isConnecting: caller !== undefined,
      });
      const next = nextOf(request.query) ?? "/";
      signInFlow.set(context, reply, {
        ...challenge,
        provider,
        next,
        user: caller?.user_id ?? null,
      });
      reply.headers(unkept).redirect(url, 303);
    } catch (error) {
      fail(request, reply, error, titleOf(provider, settings));
    }
    return reply;
  });

  pages.get(callbackPath, optionsOf(finishSignIn), async (request, reply) => {
    await finish(request, reply);
    return reply;
  });

  async function finish(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const flow = signInFlow.find(context, request);
    const { state, code, error } = request.query as Record<string, unknown>;
    if (typeof state === "string" && state.startsWith(checkPrefix)) {
      const title = "Copy the address of this page";
      sendPage(reply.headers(unkept), { title, body: doctorPage() });
      return;
    }
    if (!flow)
      return sendFailure(reply, 400, "The sign-in took too long, or began in another browser");
    if (typeof state !== "string" || !equalSecrets(state, flow.state))
      return sendFailure(reply, 400, "This browser did not begin this sign-in");
    const { provider } = flow;
    const settings = context.providers[provider];
    const caller = await findSession(context, request, reply);
    signInFlow.clear(context, reply);
    if (!settings)
      return sendFailure(reply, 404, "Sign-in with this provider was switched off meanwhile");
    const title = titleOf(provider, settings);
    if ((caller?.user_id ?? null) !== flow.user)
      return sendFailure(reply, 409, "This browser signed in or out in the meantime");
    if (error === "access_denied") return sendFailure(reply, 400, `You declined at ${title}`);
    if (error !== undefined || typeof code !== "string")
      return sendFailure(reply, 400, `${title} did not sign you in`);
    try {
      // The exchange must name the address that the start named, whatever name this request has.
      const returned = new URL(callback());
      returned.search = new URL(request.url, returned).search;
      const tokens = await exchangeCode(provider, settings, returned, flow);
      const person = await personOf(provider, settings, tokens);
      const { subject, verified, groups } = person;
      const email = person.email ?? person.shown;
      if (email === undefined) {
        const reason = `${title} has no verified e-mail address for you: verify your primary address there`;
        return sendFailure(reply, 403, reason);
      }
      const standing = await standingOf(context, provider, subject);
      // A signed-in person adds an account to themselves; anyone else is checked at every sign-in.
      const needsNoMore =
        caller !== undefined ||
        standing === "invited" ||
        allowsAddress(context.signInAllow, verified) ||
        (isOidc(provider) &&
          findOidcRule(context.signInAllow, provider, groups ?? []) !== undefined);
      const invitation = needsNoMore ? undefined : await findSignUp(context, flow.next, verified);
      const group =
        needsNoMore || invitation || isOidc(provider)
          ? undefined
          : await findGroup(context.signInAllow, provider, settings, {
              subject,
              token: tokens.access_token,
            });
      if (!needsNoMore && !invitation && group === undefined) {
        request.log.warn({ request_id: request.id, provider, email }, "a sign-in is not allowed");
        const asksGroups = context.signInAllow.some((rule) => rule.kind === "group");
        const body = notAllowedPage({
          title,
          email,
          isKnown: standing === "known",
          asksGroups: asksGroups && !isOidc(provider),
          hasTooManyGroups: person.hasTooManyGroups === true,
        });
        return sendPage(reply, { title: "Not signed in", body }, 403);
      }
      const account = {
        provider,
        subject,
        email,
        verified,
        tokens,
        groups,
        group,
        invitation: invitation?.token,
      };
      const user = await signInWithAccount(context, account, caller, request);
      if (user === "someone_else") {
        const reason = `This ${title} account belongs to another user of this server: sign out first to sign in as that user`;
        return sendFailure(reply, 409, reason);
      }
      await setSession(context, reply, user);
      // The link of an invitation that the sign-in has used up leads nowhere.
      const next = invitation ? `/?team=${invitation.team}` : flow.next;
      reply.headers(unkept);
      if (person.hasTooManyGroups)
        return sendPage(reply, { title: "Signed in", body: missingGroupsPage(title, next) });
      reply.redirect(next, 303);
    } catch (caught) {
      fail(request, reply, caught, title);
    }
  }
}

/** No HEAD: the code is used once. */
const optionsOf = (endpoint: Endpoint) => ({ exposeHeadRoute: false, config: { endpoint } });

/** The address contains a code, so it is neither cached nor sent as a referrer. */
const unkept = { "cache-control": "no-store", "referrer-policy": "no-referrer" };

/** What this server refuses when the provider has let the person in. */
const ownRefusals: Partial<Record<ProblemCode, number>> = {
  permission_denied: 403,
  not_found: 404,
  invitation_used: 409,
  quota_exceeded: 409,
};

/** The provider's doing is a page; anything else is a defect of ours. */
function fail(request: FastifyRequest, reply: FastifyReply, error: unknown, title: string): void {
  if (!(error instanceof RefusalError)) throw error;
  request.log.warn({ request_id: request.id, reason: error.message }, "a sign-in failed");
  const own = ownRefusals[error.code];
  if (own !== undefined) sendFailure(reply, own, error.message);
  else if (error.code === "provider_unavailable")
    sendFailure(reply, 424, `${title} cannot be reached or sent an invalid response`);
  else sendFailure(reply, 400, `${title} refused the sign-in; it may have been completed before`);
}

function sendFailure(reply: FastifyReply, status: number, reason: string): void {
  sendPage(reply, { title: "Not signed in", body: failedSignInPage(reason) }, status);
}
