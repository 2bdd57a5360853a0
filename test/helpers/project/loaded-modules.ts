/** Which modules a program loads. */
import { execa } from "execa";
import { root } from "./source-files.ts";

/** Runs `windlass <words>`. Returns its output, and its modules by their path from the root. */
export const modulesOfCommand = (...words: string[]) =>
  modulesOf(`
    process.on("exit", () => { process.exitCode = 0; });
    process.argv.splice(1, 0, "windlass", ...${JSON.stringify(words)});
    await import("./main.ts");`);

/**
 * Runs a script. Returns its output, and the modules that it loaded by their path from the root.
 */
export async function modulesOf(script: string): Promise<{ output: string; loaded: string[] }> {
  const record = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    process.on("exit", () => console.log("\\n" + JSON.stringify(loaded)));`;
  const { stdout } = await execa(
    process.execPath,
    ["--input-type=module", "--eval", record + script],
    { cwd: root, env: { WINDLASS_URL: "http://127.0.0.1:9", WINDLASS_TOKEN: "x" } },
  );
  const lines = stdout.split("\n");
  const urls = JSON.parse(lines.pop() ?? "[]") as string[];
  const own = `file://${root}/`;
  return {
    output: lines.join("\n").trim(),
    loaded: urls.filter((url) => url.startsWith(own)).map((url) => url.slice(own.length)),
  };
}
