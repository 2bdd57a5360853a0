import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { apiOf } from "../../../cli/demo/api.ts";
import { followJob } from "../../../cli/demo/follow-job.ts";

const id = "0190aaaa-0000-7000-8000-000000000001";

/** A control plane that has this log, chunk by chunk, a page of two at a time, and whose job ends when all of it was read once. */
async function serverWith(chunks: readonly string[]): Promise<string> {
  let available = 0;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://x");
    response.setHeader("content-type", "application/json");
    if (!url.pathname.endsWith("/logs")) {
      const ended_at = available >= chunks.length ? "2026-01-01T00:00:00.000Z" : null;
      response.end(JSON.stringify({ id, status: ended_at ? "SUCCESS" : "PROCESSING", ended_at }));
      return;
    }
    available += 1;
    const after = Number(url.searchParams.get("after"));
    const there = chunks
      .map((log_chunk, index) => ({ id: index + 1, log_chunk }))
      .slice(0, available);
    const logs = there.filter((one) => one.id > after).slice(0, 2);
    const last = logs.at(-1)?.id ?? after;
    response.end(JSON.stringify({ logs, next_after: there.length > last ? last : null }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each([
  ["cut at the ends of lines", ["one\n", "two\n", "three\n"]],
  ["cut within lines", ["on", "e\ntw", "o\nthr", "ee\n"]],
  ["in one piece", ["one\ntwo\nthree\n"]],
  ["without a last line end", ["one\ntwo\n", "three"]],
])("a log %s is shown line by line, each once and whole", async (_, chunks) => {
  const shown: string[] = [];
  const api = apiOf(await serverWith(chunks), "token", new AbortController().signal);
  const job = await followJob(api, id, (line) => shown.push(line));
  expect(job.status).toBe("SUCCESS");
  expect(shown).toEqual(["one", "two", "three"]);
});

it("a job that nothing was said about is followed to its end", async () => {
  const shown: string[] = [];
  const api = apiOf(await serverWith([]), "token", new AbortController().signal);
  expect(await followJob(api, id, (line) => shown.push(line))).toMatchObject({ status: "SUCCESS" });
  expect(shown).toEqual([]);
});
