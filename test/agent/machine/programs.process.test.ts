/** Programs that the agent runs besides terraform: environment, limits and errors. */
import { describe, expect, test } from "vitest";
import { ProgramError, runProgram } from "../../../agent/machine/programs.ts";

const sh = (script: string, options = {}) => runProgram("sh", ["-c", script], options);

describe("a program", () => {
  test("gets its arguments without a shell, an empty stdin and no variable of the agent", async () => {
    expect(await runProgram("echo", ["$HOME;", "*"])).toBe("$HOME; *");
    expect(await sh("cat")).toBe("");
    const env = { PATH: "/usr/bin:/bin", ONLY: "this" };
    const names = (await runProgram("env", [], { env })).split("\n").toSorted();
    expect(names).toEqual(["ONLY=this", "PATH=/usr/bin:/bin"]);
    expect(process.env["HOME"]).toBeDefined();
  });

  test("fails with the text of its stderr, and keeps its stdout", async () => {
    const failed = sh("echo partial; echo 'no such thing' >&2; exit 3");
    await expect(failed).rejects.toThrow(ProgramError);
    await expect(failed).rejects.toMatchObject({
      message: "sh: no such thing",
      stdout: "partial",
      code: undefined,
    });
    await expect(sh("exit 3")).rejects.toThrow(/exit code 3/);
  });

  test("that does not exist fails with ENOENT", async () => {
    await expect(runProgram("windlass-is-absent", [])).rejects.toMatchObject({
      code: "ENOENT",
      message: expect.stringContaining("windlass-is-absent"),
      stdout: "",
    });
  });

  test("is killed at its time limit, when it is cancelled, and when it prints too much", async () => {
    await expect(sh("exec tail -f /dev/null", { timeout: 50 })).rejects.toThrow(/timed out/);
    const cancelled = sh("exec tail -f /dev/null", { signal: AbortSignal.timeout(50) });
    await expect(cancelled).rejects.toThrow(/cancel/);
    await expect(sh("exec cat /dev/zero")).rejects.toThrow(/1048576/);
  });
});
