/**
 * Opens a log three times, as restarted agents do, and writes a line each time:
 * `opening-process.ts <directory> <url>`.
 */
import { openJobLog } from "../../../agent/logs/job-log.ts";
import { sinkTo } from "./log-server.ts";

const [directory = "", url = ""] = process.argv.slice(2);

for (let start = 1; start <= 3; start++) {
  const log = await openJobLog({
    directory,
    sink: sinkTo(url),
    secrets: [],
    batching: true,
    onJobStatus: () => undefined,
    onGiveUp: (error) => {
      throw error;
    },
  });
  log.system(`start ${start}`);
  await log.drained();
  await log.close();
}
