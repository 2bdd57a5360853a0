/** Counts the lines of what terraform has printed, which may be larger than the agent's memory. */
import { createReadStream } from "node:fs";
import { mebibyte } from "../../../common/units.ts";

const newline = 0x0a;

/** Returns how many lines of the file are not empty. */
export async function countLines(path: string): Promise<number> {
  let count = 0;
  let isInLine = false;
  for await (const part of createReadStream(path, { highWaterMark: mebibyte })) {
    const bytes = part as Buffer;
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(newline, start);
      isInLine ||= end !== start;
      if (end < 0) break;
      if (isInLine) count++;
      isInLine = false;
      start = end + 1;
    }
  }
  return isInLine ? count + 1 : count;
}
