/** Locks of processes on files. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const place = folderForFile();
const rounds = 5;
const hold = join(import.meta.dirname, "../../../../control-plane/store/engines/process-locks.ts");

/** Takes the lock at a given time, and keeps it until its standard input ends. */
const script = `
  import { lockFile } from ${JSON.stringify(hold)};
  const [file, at] = process.argv.slice(-2);
  while (Date.now() < Number(at));
  const release = lockFile(file);
  process.stdout.write(release ? "held" : "refused");
  process.stdin.on("end", () => release?.()).resume();`;

it("one of two processes gets a lock that both want at the same time", async () => {
  for (let round = 0; round < rounds; round += 1) {
    const words = [join(place, `lock-${round}`), String(Date.now() + 700)];
    const both = [1, 2].map(() =>
      spawn(process.execPath, ["--input-type=module", "--eval", script, ...words], {
        stdio: ["pipe", "pipe", "inherit"],
      }),
    );
    const outcomes = await Promise.all(
      both.map(async ({ stdout }) => String((await once(stdout, "data"))[0])),
    );
    await Promise.all(both.map((one) => (one.stdin.end(), once(one, "exit"))));
    expect(outcomes.toSorted()).toEqual(["held", "refused"]);
  }
});
