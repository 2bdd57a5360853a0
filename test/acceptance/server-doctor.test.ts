/** `windlass server doctor` beside a running server, without one, and as a sign-in. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../../common/doctor/finding.ts";
import { bin, windlass } from "../helpers/cli/windlass.ts";
import { words } from "../helpers/console/forms.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { startCompanyProvider, type CompanyProvider } from "../helpers/people/company-provider.ts";
import { companySignIn, publicUrl } from "../helpers/people/company-sign-in.ts";
import { TestBrowser } from "../helpers/people/providers.ts";
import { openTeam } from "../helpers/people/teams.ts";
import { ask, readRow, readRows, setRows } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";

let company: CompanyProvider;
beforeAll(async () => {
  company = await startCompanyProvider(`${publicUrl}/api/auth/callback`);
});
afterAll(() => company.close());
const provider = () => ({
  WINDLASS_OIDC_ISSUER: company.url,
  WINDLASS_OIDC_CLIENT_ID: "client",
  WINDLASS_OIDC_CLIENT_SECRET: "planted-client-secret",
});
const { plane } = planeForFile(() => ({
  ...provider(),
  WINDLASS_OIDC_CLIENT_SECRET: "client-secret",
  WINDLASS_PUBLIC_URL: publicUrl,
}));
const { person } = companySignIn(plane, () => company);
const place = folderForFile();

async function doctor(env: Record<string, string>) {
  const { exitCode, stdout } = await windlass(["server", "doctor", "--json"], { env });
  const findings = JSON.parse(stdout as string) as Finding[];
  const of = (check: string) => findings.find((one) => one.check === check);
  return { exitCode, stdout: String(stdout), of };
}
const running = () => ({
  WINDLASS_DATA_DIR: plane.directory,
  WINDLASS_PORT: new URL(plane.url).port,
  WINDLASS_PUBLIC_URL: plane.url,
});

describe("windlass server doctor", () => {
  test("prints one line for each check beside a running server, and no secret", async () => {
    const env = { ...running(), ...provider(), WINDLASS_SIGN_IN_ALLOW: "oidc:*" };
    const { exitCode, stdout } = await windlass(["server", "doctor"], { env });
    for (const line of [
      /^ok +settings +valid$/m,
      /^ok +server +runs, and is ready at http:\/\/127\.0\.0\.1:\d+$/m,
      /^ok +directory +\S+, \d+\.\d GiB free$/m,
      /^ok +database +\S+windlass\.db, \d+\.\d MiB, schema \d+$/m,
      /^ok +files +\S+, \d+\.\d GiB free$/m,
      /^skipped +mail /m,
      /^ok +address +http:\/\/127\.0\.0\.1:\d+ responds from here$/m,
      /^ok +sign-in +oidc: http:\/\/127\.0\.0\.1:\d+ responds/m,
      /^warning +issuer +\S+ is refused by AWS for tokens of jobs: the issuer must have https/m,
      /^ok +clock +agrees with that of http/m,
      /^The server can work here\.$/m,
    ])
      expect(stdout).toMatch(line);
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain("planted");
  });

  test("says what is wrong, and what to do", async () => {
    const { slug } = await openTeam(plane);
    const { id: space_id } = await readRow(plane, "teams", { slug });
    await setRows(plane, "memberships", { role: "viewer" }, { space_id });
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const { exitCode, of, stdout } = await doctor({
      ...running(),
      ...provider(),
      WINDLASS_OIDC_ISSUER: nowhere,
      WINDLASS_PUBLIC_URL: nowhere,
      WINDLASS_ISSUER_URL: "https://issuer.example.com",
      WINDLASS_SMTP_URL: `smtp://windlass:planted-password@127.0.0.1:${await freePort()}`,
      WINDLASS_MAIL_FROM: "windlass@example.com",
    });
    expect(exitCode).toBe(1);
    expect(of("sign-in")).toMatchObject({
      state: "failed",
      text: expect.stringMatching(`${nowhere}.*ECONNREFUSED`),
    });
    expect(of("address")).toMatchObject({ state: "warning" });
    expect(of("issuer")).toEqual({
      check: "issuer",
      state: "ok",
      text: "https://issuer.example.com",
    });
    expect(of("mail")).toMatchObject({
      state: "failed",
      text: expect.stringContaining("cannot be reached (ESOCKET)"),
    });
    expect(of("teams")).toMatchObject({
      state: "warning",
      text: expect.stringContaining(slug),
      advice: "windlass server teams admin SLUG USER",
    });
    expect(of("clock")).toMatchObject({ state: "skipped" });
    expect(stdout).not.toContain("planted");
  });

  test("works before the first start, and without a server", async () => {
    const WINDLASS_PORT = String(await freePort());
    const WINDLASS_DATA_DIR = join(place, "new");
    const { exitCode, of } = await doctor({ WINDLASS_PORT, WINDLASS_DATA_DIR });
    expect(exitCode).toBe(0);
    expect(of("server")).toMatchObject({ state: "skipped" });
    expect(of("database")).toMatchObject({ state: "skipped" });
    expect(of("directory")?.text).toContain("is created at the first start");
    const held = await doctor({ ...running(), WINDLASS_PORT });
    expect(held.of("server")).toMatchObject({
      state: "failed",
      text: expect.stringContaining("does not respond"),
    });
  });

  test("stops at settings that are not valid, and refuses words that it does not know", async () => {
    const { exitCode, of } = await doctor({ WINDLASS_PORT: "none" });
    expect([exitCode, of("settings")?.state]).toEqual([1, "failed"]);
    for (const args of [["oidc"], ["--oidc", "google"], ["--oidc", "oidc", "more"], ["--none"]]) {
      const refused = await windlass(["server", "doctor", ...args]);
      expect([refused.exitCode, refused.stdout]).toEqual([2, ""]);
    }
  });

  test("names a directory that cannot be there", async () => {
    const file = join(place, "file");
    writeFileSync(file, "");
    const { exitCode, of } = await doctor({ WINDLASS_DATA_DIR: join(file, "data") });
    expect([exitCode, of("directory")?.state]).toEqual([1, "failed"]);
  });
});

describe("windlass server doctor --oidc", () => {
  /** Runs the command; the browser goes where it says, and what it arrives at is pasted. */
  async function signIn(
    more: Record<string, string> = {},
    paste: (arrived: string) => string = (arrived) => arrived,
  ) {
    const env = {
      ...process.env,
      ...running(),
      ...provider(),
      WINDLASS_OIDC_CLIENT_SECRET: "client-secret",
      WINDLASS_PUBLIC_URL: publicUrl,
      ...more,
    };
    const child = spawn(bin, ["server", "doctor", "--oidc", "--json"], { env });
    const ended = once(child, "exit");
    const written = text(child.stdout);
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (part: string) => (said += part));
    await expect.poll(() => said, { timeout: 30_000 }).toContain("Address: ");
    const address = /^ {2}(http\S+)$/m.exec(said)?.[1] ?? "";
    const { url } = await new TestBrowser().visit(address, (next) => next.startsWith(publicUrl));
    child.stdin.end(`${paste(url)}\n`);
    const [code] = (await ended) as [number];
    const stdout = await written;
    const findings = JSON.parse(stdout) as Finding[];
    return { code, findings, stdout, arrived: url };
  }
  const lines = (findings: readonly Finding[]) =>
    findings.map(({ check, state, text: said }) => `${state} ${check}: ${said}`);

  test("shows each claim, who may sign in and the roles in teams, and changes nothing", async () => {
    const { admin, params, slug } = await openTeam(plane);
    await admin.client.call("replaceTeamGroups", {
      params,
      body: {
        groups: [
          { issuer: "oidc", group: "engineers", role: "planner" },
          { issuer: "oidc", group: "leads", role: "admin" },
        ],
      },
    });
    const { subject, email } = person({ groups: ["engineers", "staff", "odd\u202e\n"] });
    const { code, findings, stdout, arrived } = await signIn({
      WINDLASS_SIGN_IN_ALLOW: "oidc:group/engineers",
    });
    const shown = lines(findings);
    expect(shown).toEqual(
      expect.arrayContaining([
        `ok claim: sub: "${subject}"`,
        `ok claim: email: "${email}"`,
        String.raw`ok claim: groups: ["engineers","staff","odd\u202e\n"]`,
        `ok address: ${email} is verified`,
        `warning groups: 2 in the claim "groups"; 1 are left out: at most 2000 count, each of at most 256 characters`,
        "ok renewal: a refresh token, used after 15 minutes",
        "ok permission: may sign in, by the entry oidc:group/engineers",
        `ok team: ${slug}: the role planner, by engineers`,
      ]),
    );
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/eyJ|client-secret/);
    expect(await readRows(plane, "accounts", { subject })).toEqual([]);
    // What the browser shows there, with a server.
    const page = await ask(plane, "GET", arrived.replace(publicUrl, ""));
    expect([page.status, words(page)]).toEqual([
      200,
      expect.stringContaining("Paste it to windlass server doctor"),
    ]);
    expect(page.headers["set-cookie"]).toBeUndefined();
  });

  test.each([
    ["an unverified address", { email_verified: false }, "warning address"],
    [
      "no groups",
      {},
      'warning groups: none: neither the ID token nor the user info has the claim "groups"',
    ],
    [
      "groups that are left out",
      { _claim_names: { groups: "src1" } },
      "warning groups: the provider has left the groups out",
    ],
    [
      "nothing that permits",
      {},
      "failed permission: may not sign in: no entry of WINDLASS_SIGN_IN_ALLOW matches (@other.example)",
    ],
  ])("says why with %s", async (_, claims, says) => {
    person(claims);
    const { code, findings } = await signIn({ WINDLASS_SIGN_IN_ALLOW: "@other.example" });
    expect(lines(findings)).toContainEqual(expect.stringContaining(says));
    expect(code).toBe(1);
  });

  test.each([
    ["another address", () => "https://example.com/", "does not begin with"],
    ["a refusal", () => `${publicUrl}/api/auth/callback?error=access_denied`, "access_denied"],
    ["another sign-in", (url: string) => url.replace(/state=[^&]+/, "state=x"), ""],
  ])("refuses %s", async (_, paste, says) => {
    person();
    const { code, findings } = await signIn({}, paste);
    expect(findings.at(-1)).toMatchObject({
      check: "sign-in",
      state: "failed",
      text: expect.stringContaining(says),
    });
    expect(code).toBe(1);
  });
});
