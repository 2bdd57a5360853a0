/** Ships a log in a process of its own: `shipping-process.ts <directory> <url> <secret>`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openJobLog } from "../../agent/logs/job-log.ts";
import { usualTiming } from "../../agent/logs/shipper.ts";
import { sinkTo } from "../agent/logs/log-server.ts";

const [directory = "", url = "", secret = ""] = process.argv.slice(2);

const log = await openJobLog(
  {
    directory,
    sink: sinkTo(url),
    secrets: [secret],
    batching: true,
    onJobStatus: () => undefined,
    onGiveUp: (error) => {
      throw error;
    },
  },
  { ...usualTiming, pace: 10, poll: 50, patience: 300, retry: { first: 10, most: 50 } },
);
log.system("an agent starts");
for (const run of ["01-init", "02-plan", "03-apply"]) {
  const ended = (async () => {
    while (!existsSync(join(directory, "runs", run, "exit"))) await sleep(5);
  })();
  log.run(run, ended);
  await ended;
  log.system(`${run} has ended`);
}
await log.drained();
await log.close();
