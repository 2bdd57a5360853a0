/** The limit on the size of a fetched source, with a real process that never ends by itself. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fetchWithin } from "../../../../agent/job/source/fetch-limit.ts";
import { scratch } from "../../../helpers/agent/agent-process.ts";

const mebibyte = 1024 * 1024;
const path = process.env["PATH"] ?? "";

test("a fetch is stopped when it exceeds the limit while it runs", async () => {
  using place = scratch();
  const limit = { what: "modules", folder: place.path, bytes: mebibyte, path, every: 10 } as const;
  const fetching = fetchWithin(limit, async (signal) => {
    const script = `head -c ${2 * mebibyte} /dev/zero > large; exec tail -f /dev/null`;
    const fetcher = spawn("/bin/sh", ["-c", script], { cwd: place.path, signal });
    fetcher.on("error", () => undefined);
    await once(fetcher, "close").catch(() => undefined);
    throw new Error("the process ended with a signal");
  });
  await expect(fetching).rejects.toThrow(
    /^modules: the fetched files take \d+ MiB on the disk, more than the limit of 1 MiB/,
  );
});

test("a fetch that ends before the first measurement is measured at its end", async () => {
  using place = scratch();
  const limit = { what: "source", folder: place.path, path, every: 60_000 } as const;
  const fetch = (bytes: number) =>
    fetchWithin({ ...limit, bytes }, () => {
      writeFileSync(join(place.path, "file"), Buffer.alloc(2 * mebibyte, 1));
      return Promise.resolve("fetched");
    });
  await expect(fetch(mebibyte)).rejects.toThrow(/^source: the fetched files take \d+ MiB/);
  await expect(fetch(4 * mebibyte)).resolves.toBe("fetched");
});

test("a fetch that cannot be measured is refused", async () => {
  using place = scratch();
  const limit = { what: "source", folder: join(place.path, "absent"), bytes: mebibyte, path };
  await expect(fetchWithin({ ...limit, what: "source" }, () => Promise.resolve())).rejects.toThrow(
    /cannot be measured/,
  );
});
