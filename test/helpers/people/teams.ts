/** Teams of users and of people in browsers, made through the API. */
import { randomUUID } from "node:crypto";
import { acceptInvitation } from "../../../control-plane/services/teams/invitations.ts";
import { teamHeader } from "../../../protocol/limits.ts";
import type { Role } from "../../../protocol/roles.ts";
import type { CreateInvitation } from "../../../protocol/teams.ts";
import { callerOf } from "./caller.ts";
import { callsOf, type Calls } from "../plane/calls.ts";
import { addTestWorker, readRow, type Plane } from "../plane/plane.ts";
import { addRows, addSpec } from "../plane/rows.ts";
import { openPerson, type Person } from "./sign-in.ts";
import { addTestUser, type User } from "./user.ts";

let count = 0;

/** A slug that no other team of this file has. */
export const newSlug = (): string => `team-${(count += 1)}`;

/** A user or a person who creates a team and invites others to it. */
type Admin = Pick<User | Person, "client" | "headers">;

/** Adds a team of a user or person; `calls` is the API as the admin calls it within the team. */
export async function addTeam<A extends Admin>(plane: Plane, admin: A) {
  const slug = newSlug();
  await admin.client.call("createTeam", { body: { name: "Platform", slug } });
  const calls = callsWithin(plane, admin.headers, slug);
  return { admin, slug, params: { slug }, path: `/teams/${slug}`, calls };
}

/** Adds a team whose admin is a person in a browser. */
export const openTeam = async (plane: Plane, address?: string) =>
  addTeam(plane, await openPerson(plane, address));
export type TestTeam = Awaited<ReturnType<typeof openTeam>>;

/** Lets a new person in a browser join a team. */
export async function addPerson(
  plane: Plane,
  { admin, slug }: Pick<TestTeam, "admin" | "slug">,
  role: Role,
  address?: string,
): Promise<Person> {
  const person = await openPerson(plane, address);
  await join(plane, admin, slug, person, role);
  return person;
}

/** Lets a new user join the team of an admin; `calls` is the API as the user calls it within the team. */
export async function addMember(
  plane: Plane,
  admin: Pick<Admin, "client">,
  slug: string,
  given: GivenRoles,
) {
  const user = await addTestUser(plane);
  await join(plane, admin, slug, user, given);
  return { ...user, calls: callsWithin(plane, user.headers, slug) };
}

/** A role in the whole team, or also roles in zones. */
export type GivenRoles = Role | Pick<CreateInvitation, "role" | "zones">;

export const bodyOf = (given: GivenRoles): Pick<CreateInvitation, "role" | "zones"> =>
  typeof given === "string" ? { role: given } : given;

/** Lets a user join the team of an admin with roles. */
export async function join(
  plane: Plane,
  { client }: Pick<Admin, "client">,
  slug: string,
  user: Pick<Person, "id">,
  given: GivenRoles,
): Promise<void> {
  const invitation = { params: { slug }, body: bodyOf(given) };
  const { link } = await client.call("createInvitation", invitation);
  await acceptLink(plane, link, user);
}

/** Lets a user join a team by the link of an invitation. Returns the slug of the team. */
export const acceptLink = (
  { context }: Plane,
  link: string,
  user: Pick<Person, "id">,
): Promise<string> => acceptInvitation(context, callerOf(user), link.split("/").at(-1) ?? "");

/** The API as a user calls it within a team. */
export const callsWithin = (
  plane: Pick<Plane, "url">,
  headers: Record<string, string>,
  slug: string,
): Calls => callsOf(plane, { ...headers, [teamHeader]: slug });

/** Adds a configuration and a worker of a team. */
export async function addTeamSpec(plane: Plane, slug: string) {
  const { id } = await readRow(plane, "teams", { slug });
  const zone = randomUUID();
  await addRows(plane.context.store, "zones", {
    id: zone,
    owner_id: id,
    name: zone,
    created_at: 1,
    updated_at: 1,
  });
  const space = { id, zone };
  const spec = await addSpec(plane.context.store, space);
  const worker = await addTestWorker(plane, space);
  return { space, spec, worker, runner: callsOf(plane, worker.headers) };
}
