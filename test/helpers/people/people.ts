/** People who are signed in in a browser, alone and in teams. */
import { acceptInvitation } from "../../../control-plane/services/teams/invitations.ts";
import type { Role } from "../../../protocol/roles.ts";
import { callerOf } from "./caller.ts";
import { callsOf } from "../plane/calls.ts";
import { submit, type Fields } from "../console/forms.ts";
import { ask, type Plane } from "../plane/plane.ts";
import { openBrowser } from "./sign-in.ts";
import { callsWithin, newSlug } from "./teams.ts";

/** A person who is signed in in a browser. */
export async function openPerson(plane: Plane, address?: string) {
  const { email, headers } = await openBrowser(plane, address);
  const { id } = await plane.context.store.read.sql
    .selectFrom("users")
    .select("id")
    .where("email", "=", email)
    .executeTakeFirstOrThrow();
  return {
    id,
    email,
    headers,
    client: callsOf(plane, headers),
    page: (path: string) => ask(plane, "GET", path, { headers }),
    post: (path: string, fields: Fields = {}) => submit(plane, path, fields, headers),
  };
}
export type Person = Awaited<ReturnType<typeof openPerson>>;

/** A team, and its admin. */
export async function openTeam(plane: Plane, address?: string) {
  const admin = await openPerson(plane, address);
  const slug = newSlug();
  await admin.client.call("createTeam", { body: { name: "Platform", slug } });
  const calls = callsWithin(plane, admin.headers, slug);
  return { admin, slug, params: { slug }, path: `/teams/${slug}`, calls };
}
export type TestTeam = Awaited<ReturnType<typeof openTeam>>;

/** Lets a new person join a team. */
export async function addPerson(
  plane: Plane,
  { admin, params }: Pick<TestTeam, "admin" | "params">,
  role: Role,
  address?: string,
): Promise<Person> {
  const person = await openPerson(plane, address);
  const { link } = await admin.client.call("createInvitation", { params, body: { role } });
  await acceptInvitation(plane.context, callerOf(person), link.split("/").at(-1) ?? "");
  return person;
}
