import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../control-plane/config.ts";
import { startServer } from "../../control-plane/server.ts";
import { ask } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { windlass } from "../helpers/cli/windlass.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const { plane } = planeForFile();
const place = folderForFile();

const loginLink = (words: readonly string[], env: Record<string, string> = {}) =>
  windlass(["server", "login-link", ...words], {
    env: { WINDLASS_DATA_DIR: plane.directory, ...env },
  });

describe("windlass server login-link", () => {
  test("prints a link that the running server accepts, and nothing else", async () => {
    const { exitCode, stdout, stderr } = await loginLink(["--email", " Ada@Example.com "]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`^${plane.url}/login/link/wll_[\\w-]{43}$`));
    const opened = await ask(plane, "GET", new URL(String(stdout)).pathname);
    expect(opened.status).toBe(303);
    const users = await plane.context.store.read.sql.selectFrom("users").select("email").execute();
    expect(users).toEqual([{ email: "ada@example.com" }]);
  });

  test("says that no server runs on the directory, and prints the address of the last one", async () => {
    const directory = join(place, "stopped", "data");
    await (
      await startServer(
        readConfig({ WINDLASS_DATA_DIR: directory, WINDLASS_PORT: "0" }),
        pino({ enabled: false }),
      )
    ).close();
    const { exitCode, stdout, stderr } = await loginLink(["--email", "ada@example.com"], {
      WINDLASS_DATA_DIR: directory,
    });
    expect({ exitCode }).toEqual({ exitCode: 0 });
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*\/login\/link\/wll_/);
    expect(stderr).toMatch(
      /^No server is running on \S+data\. Start it before you open the link\./,
    );
  });

  test("uses the public URL", async () => {
    const { stdout } = await loginLink(["--email", "ada@example.com"], {
      WINDLASS_PUBLIC_URL: "https://windlass.example/",
    });
    expect(stdout).toMatch(/^https:\/\/windlass\.example\/login\/link\/wll_/);
  });

  test.each([
    [[]],
    [["--email", "ada"]],
    [["--email", ""]],
    [["--email", "ada@"]],
    [["--email", "a b@example.com"]],
    [["--email", "ada@example.com\nbcc@example.com"]],
    [["--email", `${"a".repeat(300)}@example.com`]],
    [["--mail", "ada@example.com"]],
    [["ada@example.com"]],
  ])("refuses %j as wrong usage with exit code 2", async (words) => {
    const { exitCode, stdout, stderr } = await loginLink(words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).not.toBe("");
  });

  test("reports the path of a missing data store, and creates none", async () => {
    const { exitCode, stderr } = await loginLink(["--email", "ada@example.com"], {
      WINDLASS_DATA_DIR: join(place, "typo"),
    });
    expect(exitCode).toBe(78);
    expect(stderr).toContain(join(place, "typo", "windlass.db"));
  });
});
