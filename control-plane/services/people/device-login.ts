/** A browser approves a device code and shows six characters for the user to type at the client. */
import type { DeviceLogin, ExchangeDeviceLogin, ExchangedTokens } from "../../../protocol/auth.ts";
import type { Origin, UserCaller } from "../callers.ts";
import type { RefusalLimit } from "../refusal-limit.ts";
import { equalSecrets } from "../../../common/equal-secrets.ts";
import { hashToken } from "../../domain/tokens.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import {
  findCliLogin,
  findFamily,
  insertCliLogin,
  takeGuess,
  useCliLogin,
  type CliLoginRow,
} from "../../store/people/logins.ts";
import { asSystem } from "../../store/spaces.ts";
import { clientProviderToken } from "./accounts.ts";
import { fingerprint, person, record } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { time } from "../../domain/moments.ts";
import { startCliLogin, tokenPair } from "./logins.ts";
import { minute } from "../../../common/units.ts";

const lifetimeMilliseconds = 10 * minute;
/** Wrong guesses that end a code: with 32⁶ codes, five succeed once in 200 million. */
const guesses = 5;
/** A–Z and 2–9 without O and I, which can be confused with 0 and 1. */
const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/** POST /api/auth/cli/generate. The same user gets the same code until it ends. */
export async function generateDeviceLogin(
  context: Context,
  user: UserCaller,
  deviceCode: string,
): Promise<DeviceLogin> {
  const { store, now } = context;
  const device_code = deviceCode.toLowerCase();
  const { user_id: profile_id } = user;
  // As the system, because another user may have approved the code.
  const login = await asSystem(() =>
    store.write(async (tx) => {
      const found = await tx.first(findCliLogin, { device_code });
      if (found && isDead(found, now())) throw new RefusalError("device_code_used");
      if (found && found.profile_id !== profile_id) throw new RefusalError("device_code_taken");
      if (found) return found;
      const made: CliLoginRow = {
        device_code,
        profile_id,
        wrong_guesses: 0,
        created_at: now(),
        expires_at: now() + lifetimeMilliseconds,
        used_at: null,
        provider_session_id:
          (await tx.first(findFamily, { id: user.login_id }))?.provider_session_id ?? null,
      };
      await insertCliLogin(tx, made);
      const id = idOf(device_code);
      const by = person(user);
      const owner = profile_id;
      await record(tx, { by, owner, action: "device_code.approve", id }, made.created_at);
      return made;
    }),
  );
  return {
    device_code: deviceCode,
    verification_code: codeOf(context, login),
    expires_at: time(login.expires_at),
  };
}

/** A device login as its user may see it. `dead`: expired, or too many wrong guesses. */
export interface ApprovedDevice extends DeviceLogin {
  readonly state: "waiting" | "used" | "dead";
}

/** Undefined if this user has not approved the code. */
export async function findDeviceLogin(
  context: Context,
  { user_id }: UserCaller,
  deviceCode: string,
): Promise<ApprovedDevice | undefined> {
  const found = await context.store.read.first(findCliLogin, {
    device_code: deviceCode.toLowerCase(),
  });
  if (found?.profile_id !== user_id) return undefined;
  const isOver = isDead(found, context.now());
  return {
    device_code: deviceCode,
    verification_code: codeOf(context, found),
    expires_at: time(found.expires_at),
    state: found.used_at !== null ? "used" : isOver ? "dead" : "waiting",
  };
}

/**
 * POST /api/auth/cli/exchange. An unknown code and one that is not yet approved get the same
 * response. A guess is counted before it is checked.
 *
 * The limits are checked and counted where concurrent exchanges run one after the other, so that a
 * burst cannot pass them together.
 */
export async function exchangeDeviceLogin(
  context: Context,
  { device_code: deviceCode, verification_code }: ExchangeDeviceLogin,
  origin: Origin,
  limits: readonly RefusalLimit[],
): Promise<ExchangedTokens> {
  const device_code = deviceCode.toLowerCase();
  // A commit may run again: a guess that was already counted is not counted twice, and does not
  // refuse itself.
  let isCounted = false;
  const outcome = await context.store.write(async (tx) => {
    if (!isCounted) for (const limit of limits) limit.check();
    const checked = await checkGuess(context, tx, {
      device_code,
      guess: verification_code,
      origin,
    });
    if (typeof checked === "string" && !isCounted) {
      for (const limit of limits) limit.count();
      isCounted = true;
    }
    return checked;
  });
  if (typeof outcome === "string") throw new RefusalError(outcome);
  const pair = await tokenPair(context, outcome, outcome.email);
  const provider_token = await clientProviderToken(context, outcome.user_id);
  return { ...pair, provider_token, user_email: outcome.email };
}

/** Returns the reason for a refusal instead of throwing: refusals must be recorded. */
async function checkGuess(
  context: Context,
  tx: Queries,
  { device_code, guess, origin }: { device_code: string; guess: string; origin: Origin },
) {
  const now = context.now();
  const login = await tx.first(takeGuess, { device_code, limit: guesses, now });
  if (!login)
    return (await tx.first(findCliLogin, { device_code }))
      ? ("expired_token" as const)
      : ("authorization_pending" as const);
  const id = idOf(device_code);
  const owner = login.profile_id;
  if (!equalSecrets(upperCase(guess), codeOf(context, login))) {
    if (login.wrong_guesses >= guesses) {
      const by = { kind: "anonymous", id: null, name: null, origin } as const;
      await record(tx, { by, owner, action: "device_code.burn", id }, now);
    }
    return "invalid_verification_code" as const;
  }
  await tx.run(useCliLogin, { device_code, now });
  const started = await startCliLogin(tx, owner, now, login.provider_session_id);
  const family = await tx.first(findFamily, { id: started.id });
  if (!family) throw new Error("the login just made is not there");
  const { email, kind } = family;
  const by = person({ email, login_id: family.id, login_kind: kind, origin });
  const details = { way: "device_code", device_code: id };
  await record(tx, { by, owner, action: "login.create", id: family.id, name: kind, details }, now);
  return family;
}

/** The name of a device code in the audit log, which must not contain the code itself. */
const idOf = (deviceCode: string): string => fingerprint(hashToken(deviceCode));

/** A keyed hash of the approval, five bits each: derived, so that no disk has them. */
function codeOf({ box }: Context, { device_code, profile_id, created_at }: CliLoginRow): string {
  const hash = box("verification-code").sign(`${device_code}:${profile_id}:${created_at}`);
  const bytes = Buffer.from(hash, "base64url").subarray(0, 6);
  return [...bytes].map((byte) => alphabet[byte % alphabet.length]).join("");
}

/** A–Z only: some letters of other scripts have one of these as upper case. */
const upperCase = (text: string): string =>
  text.replace(/[a-z]/g, (letter) => letter.toUpperCase());

const isDead = ({ used_at, wrong_guesses, expires_at }: CliLoginRow, now: number): boolean =>
  used_at !== null || wrong_guesses >= guesses || expires_at <= now;
