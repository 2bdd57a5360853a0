/** Teams with members, made through the API. */
import { randomUUID } from "node:crypto";
import { acceptInvitation } from "../../../control-plane/services/teams/invitations.ts";
import { teamHeader } from "../../../protocol/limits.ts";
import type { Role } from "../../../protocol/roles.ts";
import { callerOf } from "./caller.ts";
import { callsOf, type Calls } from "../plane/calls.ts";
import { addTestWorker, readRow, type Plane } from "../plane/plane.ts";
import { addRows, addSpec } from "../plane/rows.ts";
import { addTestUser, type TestUser } from "./test-user.ts";

let count = 0;

/** A slug that no other team of this file has. */
export const newSlug = (): string => `team-${(count += 1)}`;

/** Adds a team of a user; `calls` is the API as this user calls it within the team. */
export async function addTeam(plane: Plane, { client, headers }: TestUser) {
  const slug = newSlug();
  await client.call("createTeam", { body: { name: "Platform", slug } });
  return { slug, params: { slug }, calls: callsWithin(plane, headers, slug) };
}

/** A member of a team; `calls` is the API as the member calls it within the team. */
export interface TestMember extends TestUser {
  readonly calls: Calls;
}

/** Lets a new user join the team of an admin with a role. */
export async function addMember(
  plane: Plane,
  { client }: Pick<TestUser, "client">,
  slug: string,
  role: Role,
): Promise<TestMember> {
  const user = await addTestUser(plane);
  await join(plane, { client }, slug, user, role);
  return { ...user, calls: callsWithin(plane, user.headers, slug) };
}

/** Lets a user join the team of an admin with a role. */
export async function join(
  plane: Plane,
  { client }: Pick<TestUser, "client">,
  slug: string,
  user: Pick<TestUser, "owner">,
  role: Role,
): Promise<void> {
  const { link } = await client.call("createInvitation", {
    params: { slug },
    body: { role },
  });
  await acceptLink(plane, link, user);
}

/** Lets a user join a team by the link of an invitation. Returns the slug of the team. */
export const acceptLink = (
  { context }: Plane,
  link: string,
  { owner }: Pick<TestUser, "owner">,
): Promise<string> => acceptInvitation(context, callerOf(owner), link.split("/").at(-1) ?? "");

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
