/** A user who is signed in at the client, with a profile of their own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { hour } from "../../common/units.ts";
import type { CreatedInvitation } from "../../protocol/teams.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import type { Plane } from "../helpers/plane/plane.ts";
import { acceptLink, newSlug } from "../helpers/people/teams.ts";
import { addTestUser } from "../helpers/people/user.ts";
import { windlass } from "../helpers/cli/windlass.ts";

/** Adds a user, signed in with a profile as `windlass login` leaves it. */
export async function clientUser(plane: Plane) {
  const user = await addTestUser(plane);
  const { path, [Symbol.dispose]: remove } = scratch();
  const profile = {
    server: plane.url,
    user_email: user.email,
    access_token: user.environment.WINDLASS_TOKEN,
    refresh_token: "none",
    expires_at: Date.now() + hour,
  };
  mkdirSync(path, { recursive: true });
  const auth = { current: "test", profiles: { test: profile } };
  writeFileSync(join(path, "auth.json"), JSON.stringify(auth));
  const env = { WINDLASS_CONFIG_DIR: path };
  const run = async (words: readonly string[], more: Record<string, string> = {}) => {
    const { exitCode, stdout, stderr } = await windlass(words, { env: { ...env, ...more } });
    return { exitCode, stdout: String(stdout), stderr: String(stderr) };
  };
  const json = async <T>(...words: string[]): Promise<T> => {
    const { exitCode, stdout, stderr } = await run([...words, "--json"]);
    expect({ words, exitCode, stderr }).toMatchObject({ exitCode: 0 });
    return JSON.parse(stdout) as T;
  };
  return { ...user, path, env, run, json, [Symbol.dispose]: remove };
}

export type ClientUser = Awaited<ReturnType<typeof clientUser>>;

/** Creates a team with another member, by the client. */
export async function clientTeam(
  plane: Plane,
  admin: ClientUser,
  member: ClientUser,
  role: string,
): Promise<string> {
  const slug = newSlug();
  await admin.json("teams", "create", "Platform", "--slug", slug);
  await joinTeam(plane, admin, slug, member, role);
  return slug;
}

/** Lets a user join a team, by the client of an admin. */
export async function joinTeam(
  plane: Plane,
  admin: ClientUser,
  slug: string,
  member: ClientUser,
  role: string,
): Promise<void> {
  const invite = ["teams", "invite", "--role", role, "--team", slug];
  const { link } = await admin.json<CreatedInvitation>(...invite);
  await acceptLink(plane, link, member);
}
