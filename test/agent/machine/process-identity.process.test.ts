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

test("a process is distinguished from a later one with the same pid by its start time and boot id", () => {
  const self = identityOf(process.pid);
  expect(self).toMatchObject({ pid: process.pid, boot: bootId() });
  expect(self && isAlive(self)).toBe(true);
  expect(self && isAlive({ ...self, start: "1" })).toBe(false);
  expect(self && isAlive({ ...self, boot: "another" })).toBe(false);
});

test("a process that ended or is a zombie is not alive", async () => {
  const child = spawn("/bin/sh", ["-c", "read x"], { stdio: ["pipe", "ignore", "ignore"] });
  const identity = identityOf(child.pid ?? 0);
  expect(identity && isAlive(identity)).toBe(true);
  child.stdin.end();
  await once(child, "exit");
  expect(identity && isAlive(identity)).toBe(false);
});

test("parseIdentity reads the fields after a process name with spaces and parentheses", () => {
  const line = readFileSync("/proc/self/stat", "utf8").trim();
  const odd = line.replace(/\(.*\)/, "(a) b (c d)");
  expect(parseIdentity(`${odd}\n${bootId()}\n`)).toEqual(identityOf(process.pid));
});

test("parseIdentity accepts a bare pid where there is no /proc, and nothing else", () => {
  expect(parseIdentity("17\n\n")).toEqual({ pid: 17, start: null, boot: null });
  for (const damaged of ["", "x", "-1\n", "0\n"]) expect(parseIdentity(damaged)).toBeUndefined();
});
