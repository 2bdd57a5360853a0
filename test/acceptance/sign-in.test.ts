/** Signing in at a real server, in a terminal and through a pipe. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { proving } from "../helpers/project/proving.ts";
import { approve, openPerson, type Person } from "../helpers/people/sign-in.ts";
import { openTerminal } from "../helpers/machine/terminal.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const { plane } = planeForFile();
let browser: Person;
beforeAll(async () => {
  browser = await openPerson(plane, "ada@example.com");
});

const place = folderForFile();
let count = 0;
/** The environment of another machine, with none of this one's settings. */
const machine = () => ({ WINDLASS_CONFIG_DIR: join(place, String(++count)) });

const deviceCodeIn = (text: string): string => /device_code=([\w-]+)/.exec(text)?.[1] ?? "";
const approved = async (text: string): Promise<string> =>
  (await approve(plane, browser, deviceCodeIn(text))).verification_code;

/** Signs in through a pipe: no browser is opened, and the code is read from stdin. */
async function signedIn(env: Record<string, string>): Promise<string> {
  const login = windlass(["login", "--server", plane.url], { env, stdin: "pipe" });
  let output = "";
  let isApproved = false;
  login.stderr?.on("data", (text: Buffer) => {
    output += text.toString();
    if (isApproved || !/device_code=[\w-]+\n/.test(output)) return;
    isApproved = true;
    void approved(output).then((code) => login.stdin?.end(`${code}\n`));
  });
  expect(await login).toMatchObject({ exitCode: 0, stdout: "" });
  return output;
}

const files = (env: { WINDLASS_CONFIG_DIR: string }) => join(env.WINDLASS_CONFIG_DIR, "auth.json");

describe.concurrent("signing in", () => {
  test("works in a terminal: opens the browser, asks for the code and prints the user", async () => {
    const env = machine();
    const opened = join(place, "opened");
    const browserProgram = join(place, "browser");
    writeFileSync(browserProgram, `#!/bin/sh\necho "$1" > ${opened}\n`, { mode: 0o755 });
    await using terminal = openTerminal(["login", "--server", plane.url], {
      ...env,
      BROWSER: browserProgram,
    });
    const screen = await terminal.shows("The six characters shown in the browser: ");
    const code = await approved(screen);
    terminal.type("WRONG2\n");
    await terminal.shows("Those are not the characters shown in the browser.");
    terminal.type(`${code.slice(0, 3).toLowerCase()}-${code.slice(3)}\n`);
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toContain(`Signed in to ${plane.url} as ada@example.com`);
    expect(statSync(files(env)).mode & 0o777).toBe(0o600);
    const who = await windlass(["whoami"], { env });
    expect(who.stdout).toMatch(/^email +ada@example\.com$/m);
    if (existsSync(opened)) expect(readFileSync(opened, "utf8")).toContain(deviceCodeIn(screen));
  });

  test("works through a pipe, and keeps the tokens out of the output", async () => {
    const env = machine();
    expect(await signedIn(env)).not.toContain("But");
    const { exitCode, stdout } = await windlass(["whoami", "--json"], { env });
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout as string)).toMatchObject({
      server: plane.url,
      user_email: "ada@example.com",
    });
    expect(stdout).not.toContain("eyJ");
    expect(await signedIn({ ...env, WINDLASS_TOKEN: "wat_x" })).toMatch(
      /But WINDLASS_TOKEN is set, which takes precedence\. Unset it\.\n$/,
    );
  });

  test("ends with an error when no code is entered, and with 130 on Ctrl-C", async () => {
    const env = machine();
    const piped = await windlass(["login", "--server", plane.url], {
      env,
      stdin: { file: "/dev/null" },
    });
    expect(piped.exitCode).toBe(1);
    expect(piped.stderr).toContain("No characters were entered");
    await using terminal = openTerminal(["login", "--no-browser", "--server", plane.url], env);
    await terminal.shows("The six characters");
    terminal.type("\u0003");
    expect(await terminal.exited).toBe(130);
    expect(existsSync(files(env))).toBe(false);
  });

  test("reports a wrong server address before it opens a browser", async () => {
    const env = machine();
    const dead = await windlass(["login", "--server", "http://127.0.0.1:9"], { env });
    expect(dead.exitCode).toBe(1);
    expect(dead.stderr).toContain("http://127.0.0.1:9 cannot be reached: connection refused");
    const odd = await windlass(["login", "--server", "windlass.example.com"], { env });
    expect(odd.exitCode).toBe(2);
    expect(odd.stderr).toContain("is not a server address");
    const set = { ...env, WINDLASS_URL: "https://ada:s3cret@windlass.example.com" };
    const setting = await windlass(["login"], { env: set });
    expect(setting.exitCode).toBe(78);
    expect(setting.stderr).toMatch(/^windlass: WINDLASS_URL must be an http or https address/);
    expect(setting.stderr).not.toContain("s3cret");
    const none = await windlass(["login"], { env });
    expect(none.stderr).toContain("Missing server. Run: windlass login --server");
  });

  test("ends with logout, on the machine and at the server", async () => {
    const env = machine();
    await signedIn(env);
    const before = readFileSync(files(env), "utf8");
    expect(await windlass(["logout"], { env })).toMatchObject({ exitCode: 0 });
    const after = await windlass(["whoami"], { env });
    expect(after).toMatchObject({ exitCode: 1, stdout: "" });
    expect(after.stderr).toContain("You are not signed in");
    // A copy of the tokens is useless after the logout.
    writeFileSync(files(env), before);
    expect((await windlass(["whoami"], { env })).stderr).toContain("has ended");
    const again = await windlass(["logout"], { env });
    expect(again).toMatchObject({ exitCode: 0, stderr: `Signed out at ${plane.url}.` });
    const none = await windlass(["logout"], { env });
    expect(none).toMatchObject({ exitCode: 0, stderr: "You are not signed in." });
    // Another profile is left, which is not the current one.
    writeFileSync(files(env), JSON.stringify({ ...JSON.parse(before), current: null }));
    for (const words of [["logout"], ["teams", "use", ""], ["whoami"]])
      expect(await windlass(words, { env })).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining("No profile is current. Choose one: windlass profiles use"),
      });
  });

  test("is renewed once when many commands at once find the token expired, and stays valid", async () => {
    const env = machine();
    await signedIn(env);
    const auth = JSON.parse(readFileSync(files(env), "utf8"));
    const [name] = Object.keys(auth.profiles);
    const { refresh_token } = auth.profiles[name as string];
    auth.profiles[name as string].expires_at = 0;
    writeFileSync(files(env), JSON.stringify(auth));
    const runs = Array.from({ length: proving ? 20 : 6 }, () =>
      windlass(["zones", "list", "--json"], { env }),
    );
    for (const { exitCode, stdout, stderr } of await Promise.all(runs))
      expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: "[]", stderr: "" });
    const now = JSON.parse(readFileSync(files(env), "utf8")).profiles[name as string];
    expect(now.refresh_token).not.toBe(refresh_token);
    expect(await windlass(["whoami"], { env })).toMatchObject({ exitCode: 0 });
  });

  test("sends WINDLASS_TOKEN only to the server that is named with it", async () => {
    const env = machine();
    await signedIn(env);
    const { profiles } = JSON.parse(readFileSync(files(env), "utf8"));
    const [{ access_token: WINDLASS_TOKEN }] = Object.values(profiles) as [
      { access_token: string },
    ];
    const elsewhere = machine();
    const alone = await windlass(["whoami"], { env: { ...elsewhere, WINDLASS_TOKEN } });
    expect(alone.stderr).toContain("Set WINDLASS_URL or pass --server");
    const named = { ...elsewhere, WINDLASS_TOKEN, WINDLASS_URL: plane.url };
    expect((await windlass(["whoami"], { env: named })).stdout).toContain(plane.url);
    const foreign = await windlass(["zones", "list", "--server", "http://127.0.0.1:9"], { env });
    expect(foreign.stderr).toContain("You are not signed in to http://127.0.0.1:9");
  });
});
