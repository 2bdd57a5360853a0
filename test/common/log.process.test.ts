import { once } from "node:events";
import { execa } from "execa";
import { expect, test } from "vitest";
import { root } from "../helpers/project/source-files.ts";

const logging = (logFormat: string, program: string) =>
  execa(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { openLog } from ${JSON.stringify(`${root}/common/log.ts`)};
       const log = await openLog({ logLevel: "info", logFormat: "${logFormat}" });
       ${program}`,
    ],
    { reject: false, timeout: 60_000 },
  );

test.each([
  ["json", /^\{"level":60,"time":"[^"]+","a":1,"msg":"last words"\}$/],
  ["pretty", /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d{4}\] FATAL: last words\n +a: 1$/],
])("the %s log has the last line before an exit", async (format, line) => {
  const { exitCode, stderr } = await logging(
    format,
    `log.debug("no"); log.fatal({ a: 1 }, "last words"); process.exit(3);`,
  );
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(line);
});

test("a turn that logs more than may wait loses no line", async () => {
  const { stderr } = await logging(
    "json",
    `for (let line = 0; line < 2000; line++) log.info({ line }, "x".repeat(1000));`,
  );
  expect(stderr.split("\n").map((line) => JSON.parse(line).line)).toEqual([...Array(2000).keys()]);
});

test.each(["json", "pretty"])(
  "a closed reader of the %s log does not end the process",
  async (format) => {
    const child = logging(
      format,
      `log.info("first");
     process.stdin.resume().once("end", () => {
       for (let line = 0; line < 1000; line++) log.info({ line }, "x".repeat(2000));
       console.log("alive");
     });`,
    );
    await once(child.stderr, "data");
    child.stderr.destroy();
    await once(child.stderr, "close");
    child.stdin.end();
    const { exitCode, stdout } = await child;
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "alive" });
  },
);
