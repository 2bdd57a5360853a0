/** Finds the lock of an apply whose machine went down. The user removes it after a check. */
import { readFile } from "node:fs/promises";
import { JobStoppedError, StepFailedError, type JobContext } from "../context.ts";
import { runTerraform, type TerraformEnd } from "./terraform.ts";
import { withoutControlSequences } from "../../../common/control-sequences.ts";

/** Takes the lock, whatever the backend, and changes nothing. */
const args = ["state", "rm", "-dry-run", "-lock-timeout=0s", "windlass_nothing.nothing"];

/** Returns a clause for the user: the lock's ID and what to do. */
export async function lockLeft(context: JobContext): Promise<string> {
  let end: TerraformEnd;
  try {
    const patience = context.settings.patience.init;
    // A stopped job looks too: its user has to unlock the state.
    const limit = { usual: context.settings.patience.apply.first, stopped: patience.first };
    const options = { logged: false, suffix: "-lock", patience, limit };
    end = await runTerraform(context, "state", args, options);
  } catch (error) {
    if (!(error instanceof StepFailedError || error instanceof JobStoppedError)) throw error;
    return lockUnknown;
  }
  if (end.code === 0) return "check what was changed before you continue";
  const id = lockIdOf(await readFile(end.stderr, "utf8"));
  if (id === undefined) return lockUnknown;
  return `the state was left locked, lock ID ${id}: check what was changed before you unlock it`;
}

const lockUnknown = "the state may still be locked";

/** The `http` backend prints its own ID in the table and the holder's in the message. */
export function lockIdOf(text: string): string | undefined {
  const plain = withoutControlSequences(text);
  const [, id] = /\bID=(\S+)/.exec(plain) ?? /\bID:\s+(\S+)/.exec(plain) ?? [];
  return id;
}
