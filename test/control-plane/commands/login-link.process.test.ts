import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ask } from "../../helpers/plane.ts";
import { planeForFile } from "../../helpers/plane-for-file.ts";
import { windlass } from "../../helpers/windlass.ts";

const { plane } = planeForFile();

const loginLink = (words: readonly string[], env: Record<string, string> = {}) =>
  windlass(["server", "login-link", ...words], {
    env: { WINDLASS_DATA_DIR: plane.directory, ...env },
  });

describe("windlass server login-link", () => {
  test("prints nothing but a link that the running server takes", async () => {
    const { exitCode, stdout, stderr } = await loginLink(["--email", " Ada@Example.com "]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`^${plane.url}/login/link/wll_[\\w-]{43}$`));
    const opened = await ask(plane, "GET", new URL(String(stdout)).pathname);
    expect(opened.status).toBe(303);
    const users = await plane.context.store.read.sql.selectFrom("users").select("email").execute();
    expect(users).toEqual([{ email: "ada@example.com" }]);
  });

  test("names the address people use", async () => {
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
  ])("refuses %j as wrong usage", async (words) => {
    const { exitCode, stdout, stderr } = await loginLink(words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).not.toBe("");
  });

  test("says where it looked when there is no data store, and creates no data store", async () => {
    const empty = await mkdtemp(join(tmpdir(), "empty-"));
    const { exitCode, stderr } = await loginLink(["--email", "ada@example.com"], {
      WINDLASS_DATA_DIR: join(empty, "typo"),
    });
    expect(exitCode).toBe(78);
    expect(stderr).toContain(join(empty, "typo", "windlass.db"));
    await rm(empty, { recursive: true });
  });

  test("explains itself", async () => {
    const { exitCode, stdout } = await loginLink(["--help"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("--email");
  });
});
