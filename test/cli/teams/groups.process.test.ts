/** Groups of sign-in providers by the client. */
import { expect, test } from "vitest";
import { userMachine } from "../../helpers/cli/user-machine.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";

const [first, second] = ["https://id.example.com", "https://other.example.com"] as const;
const { plane } = planeForFile({
  WINDLASS_OIDC_ISSUER: first,
  WINDLASS_OIDC_CLIENT_ID: "client",
  WINDLASS_OIDC_CLIENT_SECRET: "client-secret",
  WINDLASS_OIDC_2_ISSUER: second,
  WINDLASS_OIDC_2_CLIENT_ID: "client",
  WINDLASS_OIDC_2_CLIENT_SECRET: "client-secret",
  WINDLASS_PUBLIC_URL: "https://windlass.example.com",
});

test("a provider by its name replaces what the list has of it", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Platform", "--slug", "platform");
  const groups = (...words: string[]) => ada.run("teams", "groups", ...words, "--team", "platform");
  const listed = async () => {
    const all = await ada.json<{ issuer: string; role: string }[]>(
      "teams",
      "groups",
      "list",
      "--team",
      "platform",
    );
    return all.map(({ issuer, role }) => `${role} ${issuer}`).toSorted();
  };
  const add = (issuer: string, role: string, group = "devs") =>
    groups("add", group, "--role", role, "--issuer", issuer);
  await add("oidc_2", "viewer");
  expect(await listed()).toEqual([`viewer ${second}`]);
  expect(await add("oidc_2", "planner")).toMatchObject({ exitCode: 0 });
  expect(await listed()).toEqual([`planner ${second}`]);
  await add("oidc", "deployer");
  expect(await listed()).toEqual([`deployer ${first}`, `planner ${second}`]);
  for (const unknown of [
    await add("oidc_2", "viewer"),
    await groups("remove", "devs", "--issuer", "oidc_2", "--yes"),
  ]) {
    expect(unknown).toMatchObject({ exitCode: 2 });
    expect(unknown.stderr).toContain(
      `The team admits the group "devs" by its provider's address. Pass that with --issuer: ${first}, ${second}`,
    );
  }
  expect(await add(`${second}/`, "viewer")).toMatchObject({ exitCode: 0 });
  expect(await listed()).toEqual([`deployer ${first}`, `viewer ${second}`]);
  expect((await add("oidc_3", "viewer")).stderr).toContain("is no OpenID Connect provider");
});
