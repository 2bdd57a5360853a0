/** Temporary directories that are removed by themselves. */
import { afterAll, beforeEach } from "vitest";
import { scratch } from "../agent/agent-process.ts";

/** Creates a directory that is removed after the tests of the file. */
export function folderForFile(): string {
  const { path, [Symbol.dispose]: remove } = scratch();
  afterAll(remove);
  return path;
}

/** Gives each test of the file a directory of its own. */
export function folderForEachTest(receive: (path: string) => void): void {
  beforeEach(() => {
    const { path, [Symbol.dispose]: remove } = scratch();
    receive(path);
    return remove;
  });
}
