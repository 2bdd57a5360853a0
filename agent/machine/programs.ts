/** Runs the programs that the agent needs besides terraform, such as `du` and `setpriv`. */
import { mebibyte } from "../../common/units.ts";

export interface ProgramOptions {
  /** The whole environment: nothing is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** In milliseconds. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

/** A program did not start, failed, ran too long or printed too much. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
  /** Why it could not be started, such as `ENOENT`. */
  readonly code: string | undefined;
  /** What it printed before. */
  readonly stdout: string;
  constructor(message: string, { code, stdout }: { code?: string | undefined; stdout: string }) {
    super(message);
    this.code = code;
    this.stdout = stdout;
  }
}

/** Where the system's own programs are. */
const systemPath = "/usr/sbin:/usr/bin:/sbin:/bin";
/** Longer output ends the program. */
const outputLimit = mebibyte;
/** Characters of a program's own words in a message. */
const wordsLimit = 2000;

/** Runs a program without a shell and returns its stdout. Throws `ProgramError`. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { env = { PATH: systemPath }, cwd, timeout, signal }: ProgramOptions = {},
): Promise<string> {
  // Loaded by the first program that is run: it takes 40 ms and 2 MB, which an agent without jobs
  // saves.
  const { execa } = await import("execa");
  const result = await execa(program, args, {
    extendEnv: false,
    env,
    stdin: "ignore",
    maxBuffer: outputLimit,
    reject: false,
    ...(cwd === undefined ? {} : { cwd }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(signal === undefined ? {} : { cancelSignal: signal }),
  });
  if (!result.failed) return result.stdout;
  const { code, stdout, stderr, cause, shortMessage } = result;
  const reason = cause instanceof Error && code !== undefined ? cause.message : shortMessage;
  // What a program prints while it is ended by a limit is not the reason.
  const isLimited = result.timedOut || result.isCanceled || result.isMaxBuffer;
  const words = (isLimited ? "" : stderr.trim().slice(-wordsLimit)) || reason;
  throw new ProgramError(`${program}: ${words}`, { code, stdout });
}
