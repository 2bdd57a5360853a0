/** What an operator does at the server's shell for a team that has lost its admins. */
import { validate } from "uuid";
import { RefusalError } from "../../domain/refusal.ts";
import { zonesOf } from "../../domain/roles.ts";
import { lowerCase } from "../../domain/sign-in-allow.ts";
import type { Queries } from "../../store/db.ts";
import { findByAddress, findPerson, isBlocked } from "../../store/people/admission.ts";
import { findMember } from "../../store/teams/members.ts";
import { findTeamBySlug } from "../../store/teams/teams.ts";
import { operator } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { changeMember } from "./membership.ts";

/**
 * Makes a user an admin of a team, by invitation, whatever groups give. A running server notices by
 * itself. `named`: an address or an id. Returns the address, whether the user was one already, and
 * whether the user is blocked, who then cannot act as one.
 */
export function makeAdmin(
  { store, now }: Pick<Context, "store" | "now">,
  slug: string,
  named: string,
): Promise<{ readonly email: string; readonly wasAdmin: boolean; readonly isBlocked: boolean }> {
  return store.write(async (tx) => {
    const team = await tx.first(findTeamBySlug, { slug });
    if (!team) throw new RefusalError("team_not_found", `there is no team "${slug}"`);
    const { id: user, email } = await findOne(tx, named);
    const found = { email, isBlocked: await isBlocked(tx, user, [lowerCase(email)]) };
    const before = await tx.first(findMember, { space: team.id, user });
    if (before?.invited_role === "admin") return { ...found, wasAdmin: true };
    const member = { space: team.id, user, name: email, by: operator };
    const zones = zonesOf(before?.invited_zones ?? "{}");
    const invited = { access: { role: "admin", zones }, by: before?.invited_by ?? null } as const;
    await changeMember(tx, [], member, { invited }, now());
    return { ...found, wasAdmin: false };
  });
}

async function findOne(tx: Queries, named: string): Promise<{ id: string; email: string }> {
  const byId = validate(named) ? await findPerson(tx, named.toLowerCase()) : undefined;
  const people = byId ? [byId] : await findByAddress(tx, lowerCase(named));
  const [found, ...others] = people;
  if (!found)
    throw new RefusalError(
      "not_found",
      `no user of this server has the address ${named}: the person must have signed in once`,
    );
  if (others.length > 0)
    throw new RefusalError(
      "not_found",
      `${people.length} users have the address ${named}. Pass the id of one: ${people.map(({ id }) => id).join(", ")}`,
    );
  return found;
}
