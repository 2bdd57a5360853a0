import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ask, startPlane } from "../../helpers/plane/plane.ts";

it("/healthz and /readyz return 200, and /readyz 503 while the server drains", async () => {
  const plane = await startPlane();
  const statuses = async () => [
    (await ask(plane, "GET", "/healthz")).status,
    (await ask(plane, "GET", "/readyz")).status,
  ];
  expect(await statuses()).toEqual([200, 200]);
  expect((await ask(plane, "GET", "/readyz")).json()).toEqual({ status: "ready", problems: [] });
  plane.context.drain();
  expect(await statuses()).toEqual([200, 503]);
  expect((await ask(plane, "GET", "/readyz")).json().code).toBe("unavailable");
  await plane.close();
});

it("/readyz names the part of the storage with each problem", async () => {
  const plane = await startPlane();
  await rm(join(plane.directory, "blobs"), { recursive: true });
  expect((await ask(plane, "GET", "/readyz")).json()).toEqual({
    status: "ready",
    problems: ["files: the server's log has the details"],
  });
  // A round of retention may have found the directory missing too, and have logged it.
  await plane.close().catch((error: unknown) => {
    expect(String(error)).toContain("a round of retention failed");
  });
});
