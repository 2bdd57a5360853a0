/**
 * Keeps terraform's debug log of a job that asks for one. The agent cuts the file at the limit,
 * which a process that appends does not notice. After the outcome, its beginning is masked,
 * compressed and sent, in pieces.
 */
import {
  closeSync,
  constants,
  createWriteStream,
  fstatSync,
  ftruncateSync,
  readSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { every } from "../../../common/every.ts";
import { debugLogLimit } from "../../../protocol/limits.ts";
import { redactorOf, type Redactor } from "../../../common/redaction/redactor.ts";
import type { JobContext } from "../context.ts";
import { openJobFile } from "../job-files.ts";
import { checkSecretsKnown, secretsOf } from "../secrets.ts";
import { emptyFolder } from "../workspace.ts";
import { kibibyte } from "../../../common/units.ts";

type Wanted = Pick<JobContext, "claim" | "workspace">;

const isWanted = ({ claim }: Pick<JobContext, "claim">): boolean => claim.job.debug === true;

const fileOf = ({ workspace }: Pick<JobContext, "workspace">): string =>
  join(workspace.debug, "terraform.log");

/** Makes terraform write it. Without a path, terraform would write it to the job's log. */
export const debugEnvironment = (context: Wanted): Record<string, string> =>
  isWanted(context) ? { TF_LOG: "DEBUG", TF_LOG_PATH: fileOf(context) } : {};

/** Creates the directory before anything of the job runs. */
export function prepareDebugLog(context: Wanted & Pick<JobContext, "journal" | "isolation">): void {
  if (!isWanted(context) || context.journal.find("run")) return;
  emptyFolder(context.workspace.debug);
  context.isolation.give(context.workspace.debug);
}

/** Milliseconds between two checks of the size. In between, the file may exceed its limit. */
const lookEvery = 250;

/** Keeps the file within its limit until the command has ended. Returns the command's end. */
export async function boundDebugLog<T>(
  context: Wanted & Pick<JobContext, "settings">,
  ended: Promise<T>,
): Promise<T> {
  if (!isWanted(context)) return ended;
  const over = new AbortController();
  // If the job has replaced the file, the error is reported when the log is to be sent.
  const bounded = every(
    lookEvery,
    () => cut(context),
    over.signal,
    () => undefined,
  );
  try {
    return await ended;
  } finally {
    over.abort();
    await bounded;
  }
}

/** Leaves one byte more than the limit, which shows that there was more. */
function cut(context: Wanted & Pick<JobContext, "settings">): void {
  const most = context.settings.debugLogLimitBytes + 1;
  const file = openJobFile(context.workspace.root, fileOf(context), constants.O_RDWR);
  if (file === undefined) return;
  try {
    if (fstatSync(file).size > most) ftruncateSync(file, most);
  } finally {
    closeSync(file);
  }
}

type Sending = Wanted &
  Pick<JobContext, "settings" | "journal" | "directory" | "api"> &
  Pick<JobContext, "log">;

/** Sends the debug log if the job asks for one. The outcome of the job does not depend on it. */
export async function sendDebugLog(context: Sending): Promise<void> {
  if (!isWanted(context)) return;
  try {
    await send(context);
  } catch (error) {
    context.log.system(`The debug log could not be sent: ${(error as Error).message}`);
  }
}

async function send(context: Sending): Promise<void> {
  const { workspace, directory, api, settings } = context;
  checkSecretsKnown(context);
  const file = openJobFile(workspace.root, fileOf(context));
  // Terraform was never started.
  if (file === undefined) return;
  const packed = join(directory, "debug-log.gz");
  try {
    const pieces = masked(file, settings.debugLogLimitBytes, redactorOf(secretsOf(context)));
    const options = { objectMode: false, highWaterMark: 1 };
    const target = createWriteStream(packed, { mode: 0o600 });
    await pipeline(Readable.from(pieces, options), createGzip(), target);
  } finally {
    closeSync(file);
  }
  const { size } = statSync(packed);
  if (size > debugLogLimit)
    throw new Error(`compressed it has ${size} bytes, more than ${debugLogLimit}`);
  await api.uploadDebugLog(packed);
}

const pieceLength = 64 * kibibyte;

/** At the cut after `limit` bytes, what may be the start of a secret is left out. */
export function* masked(file: number, limit: number, redactor: Redactor): Generator<Buffer> {
  const { size } = fstatSync(file);
  const isCut = size > limit;
  const end = Math.min(size, limit);
  const most = Math.max(pieceLength, redactor.lookahead);
  const buffer = Buffer.allocUnsafeSlow(most + redactor.lookahead);
  let position = 0;
  let carry = 0;
  while (position < end) {
    const wanted = Math.min(buffer.length, end - position);
    const bytes = buffer.subarray(0, readSync(file, buffer, 0, wanted, position));
    const isLast = !isCut && position + bytes.length >= end;
    const piece = redactor.cut(bytes, Math.min(most, bytes.length), {
      final: isLast,
      skip: carry,
    });
    if (piece.length === 0) break;
    yield Buffer.from(piece.text);
    position += piece.length;
    carry = piece.carry;
  }
  if (isCut)
    yield Buffer.from(`\n[windlass] The debug log ends here: it is larger than ${limit} bytes.\n`);
}
