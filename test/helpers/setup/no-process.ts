/**
 * Setup of the unit project: a unit test that starts a process fails with a message that says what
 * to do.
 */
import { ChildProcess } from "node:child_process";

// Covers every asynchronous way to start a process. Synchronous ones, like `git ls-files`, end
// before they return.
(ChildProcess.prototype as unknown as { spawn: (options: { file: string }) => never }).spawn = ({
  file,
}) => {
  throw new Error(
    `A unit test starts no process (${file}). Rename its file to end in .process.test.ts.`,
  );
};
