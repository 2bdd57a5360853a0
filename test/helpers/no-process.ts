/** Setup of the unit project: a test that starts a process belongs to another project, and fails with what to do. */
import { ChildProcess } from "node:child_process";

// Of all ways to start one that is not waited for; what is over before it is back, like `git ls-files`, is none to watch.
(ChildProcess.prototype as unknown as { spawn: (options: { file: string }) => never }).spawn = ({
  file,
}) => {
  throw new Error(
    `A unit test starts no process (${file}). Rename its file to end in .process.test.ts.`,
  );
};
