/** Counts the resources that an apply has changed, from its log. */
import type { LogChunk } from "../../protocol/jobs.ts";
import { duration } from "../terminal/times.ts";

export interface ApplyProgress {
  add(chunk: LogChunk): void;
  /** Such as `3 of 7 · 41s aws_db_instance.main`, with the slowest; undefined before the first. */
  text(): string | undefined;
}

/** `total`: how many the plan changes, if this is known. */
export function applyProgress(total: number | undefined): ApplyProgress {
  const done = new Set<string>();
  const open = new Map<string, number>();
  return {
    add({ resource, created_at }) {
      if (!resource || resource.action === "read") return;
      const { address, event } = resource;
      // A replacement begins again after its deletion.
      done.delete(address);
      open.delete(address);
      if (event === "started") open.set(address, Date.parse(created_at));
      if (event === "ended") done.add(address);
    },
    text() {
      if (done.size + open.size === 0) return undefined;
      const count = total === undefined ? `${done.size} done` : `${done.size} of ${total}`;
      // In the order of their starts.
      const [slowest] = open;
      return slowest === undefined
        ? count
        : `${count} · ${duration(Date.now() - slowest[1])} ${slowest[0]}`;
    },
  };
}
