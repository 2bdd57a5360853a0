/** Invitations by the client. */
import { expect, test } from "vitest";
import type { CreatedInvitation } from "../../../protocol/teams.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { userMachine } from "../../helpers/cli/user-machine.ts";

const { plane } = planeForFile();

test("a second invitation of an address names the first, which is still open", async () => {
  await using ada = await userMachine(plane);
  await ada.json("teams", "create", "Platform", "--slug", "platform");
  const invite = (role: string, email: string) =>
    ["teams", "invite", email, "--role", role, "--team", "platform"] as const;
  const first = await ada.json<CreatedInvitation>(...invite("viewer", "grace@example.com"));
  const other = await ada.run(...invite("viewer", "joan@example.com"));
  expect(other.stderr).not.toMatch(/earlier|already/);
  const list = ["teams", "members", "list", "--team", "platform"] as const;
  const [{ email } = { email: "" }] = await ada.json<{ email: string }[]>(...list);
  const own = await ada.run(...invite("viewer", email));
  expect(own.stderr).toContain(
    `${email} is a member already, as admin. To change the role: windlass teams members update ${email} --role ROLE --team platform`,
  );
  const second = await ada.run(...invite("deployer", "Grace@example.com"));
  expect(second.stderr).toContain(
    "An earlier invitation of grace@example.com, as viewer, stays open until ",
  );
  const remedy = ["teams", "invitations", "revoke", first.id, "--team", "platform"];
  expect(second.stderr).toContain(`To revoke it: windlass ${remedy.join(" ")}`);
  expect(await ada.run(...remedy)).toMatchObject({ exitCode: 0 });
});
