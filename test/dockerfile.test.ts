/** Checks the Dockerfile without a container engine. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { validate } from "dockerfile-utils";
import { expect, test } from "vitest";
import { uidCapabilities } from "../agent/job/isolation/choose.ts";
import { root } from "./helpers/project/source-files.ts";

const text = readFileSync(join(root, "Dockerfile"), "utf8");
const lines = text
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll("\\\n", " ")
  .split("\n");
const of = (word: string): string[] =>
  lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));

test("the Dockerfile passes its linter", () => {
  expect(validate(text)).toEqual([]);
  expect(validate("FROM node:24\nRUNN true\n")).not.toEqual([]);
});

test("every file that the Dockerfile copies exists", () => {
  const sources = of("COPY")
    .filter((line) => !line.startsWith("--from="))
    .flatMap((line) => line.split(/\s+/).slice(0, -1));
  expect(sources.length).toBeGreaterThan(3);
  expect(sources.filter((source) => !existsSync(join(root, source)))).toEqual([]);
});

test("the image's agent cancels its jobs within the stop time of docs/containers.md", () => {
  const [, jobs] = /WINDLASS_STOP_SECONDS=(\d+)/.exec(text) ?? [];
  const page = readFileSync(join(root, "docs/containers.md"), "utf8");
  const [, stop] = /--stop-timeout (\d+)[^`]*windlass agent/.exec(page) ?? [];
  // A cancelled apply may take ten minutes, and its report one more.
  expect(Number(stop) - Number(jobs)).toBeGreaterThan(660);
});

test("the image's health check asks the role that runs whether it works", () => {
  const health = lines.find((line) => line.includes("HEALTHCHECK"));
  expect(health).toContain("windlass agent health");
  expect(health).toContain("windlass server health");
  // Jobs can reach every port of an agent.
  expect(text).not.toContain("WINDLASS_STATUS_ADDRESS");
});

test("docs/containers.md starts a runner with the capabilities that the level uid needs", () => {
  const page = readFileSync(join(root, "docs/containers.md"), "utf8");
  const [command = ""] = /docker run -d --name runner [^]*?windlass agent/.exec(page) ?? [];
  expect(command).toContain("--user 0 --cap-drop ALL");
  expect([...command.matchAll(/--cap-add (\w+)/g)].map(([, name]) => name)).toEqual(
    uidCapabilities,
  );
});

test("the image runs without privileges, receives signals, and has no build tools", () => {
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith("FROM ")));
  expect(last).toContain("USER 1000:1000");
  expect(last).toContain('ENTRYPOINT ["tini", "--", "windlass"]');
  expect(last.join("\n")).not.toMatch(/\b(gcc|g\+\+|make|python3|build-essential)\b/);
  expect(last.join("\n")).toContain("/usr/local/bin/npm");
});
