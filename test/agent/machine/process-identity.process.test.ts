import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  bootId,
  identityOf,
  isAlive,
  parseIdentity,
} from "../../../agent/machine/process-identity.ts";

test("a process is told from a later one with the same pid by its start and the boot", () => {
  const self = identityOf(process.pid);
  expect(self).toMatchObject({ pid: process.pid, boot: bootId() });
  expect(self && isAlive(self)).toBe(true);
  expect(self && isAlive({ ...self, start: "1" })).toBe(false);
  expect(self && isAlive({ ...self, boot: "another" })).toBe(false);
});

test("a process that ended is not alive, nor is a zombie", async () => {
  const child = spawn("/bin/sh", ["-c", "read x"], { stdio: ["pipe", "ignore", "ignore"] });
  const identity = identityOf(child.pid ?? 0);
  expect(identity && isAlive(identity)).toBe(true);
  child.stdin.end();
  await once(child, "exit");
  expect(identity && isAlive(identity)).toBe(false);
});

test("a name with spaces and parentheses does not shift the fields", () => {
  const line = readFileSync("/proc/self/stat", "utf8").trim();
  const odd = line.replace(/\(.*\)/, "(a) b (c d)");
  expect(parseIdentity(`${odd}\n${bootId()}\n`)).toEqual(identityOf(process.pid));
});

test("a bare pid is enough where there is no /proc, rubbish is nothing", () => {
  expect(parseIdentity("17\n\n")).toEqual({ pid: 17, start: null, boot: null });
  for (const rubbish of ["", "x", "-1\n", "0\n"]) expect(parseIdentity(rubbish)).toBeUndefined();
});
