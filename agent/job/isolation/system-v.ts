/** Removes the shared memory, semaphores and message queues (System V) that a job's user has left. */
import { readIfExists } from "../../../common/files.ts";
import { runProgram } from "../../machine/programs.ts";
import type { AsUser } from "./shared-folders.ts";

/** The tables of the kernel, each with the option of `ipcrm` for it. */
const tables = { shm: "--shmem-id", sem: "--semaphore-id", msg: "--queue-id" };

/** What cannot be removed stays. */
export async function removeSystemV(user: number, path: string, asUser: AsUser): Promise<void> {
  const found = Object.entries(tables).flatMap(([table, option]) =>
    idsOf(readIfExists(`/proc/sysvipc/${table}`) ?? "", user).flatMap((id) => [option, id]),
  );
  if (found.length === 0) return;
  const options = { env: { PATH: path }, cwd: "/" };
  const [program = "", ...args] = asUser(user, ["ipcrm", ...found]);
  await runProgram(program, args, options).catch(() => undefined);
}

/** By the creator: the owner can be changed. */
function idsOf(table: string, user: number): string[] {
  const [names = [], ...rows] = table.split("\n").map((line) => line.trim().split(/\s+/));
  const creator = names.indexOf("cuid");
  return rows.flatMap((row) => (row[creator] === String(user) ? (row[1] ?? []) : []));
}
