/**
 * Finds where the change of a resource starts, ends or fails in the output of an apply, which
 * terraform and OpenTofu print in the same words. Pure.
 */
import type { LogResource } from "../../protocol/jobs.ts";
import { timeoutSecondsLimit, planTextLimit } from "../../protocol/limits.ts";
import { withoutControlSequences } from "../../common/control-sequences.ts";

type Stream = "STDOUT" | "STDERR";
type Action = LogResource["action"];

/** A line of progress on stdout, or the first line of a framed message on stderr. */
const marks: Readonly<Record<Stream, RegExp>> = {
  STDOUT:
    /^[^\n]*: (?:(?:Creat|Modify|Destroy|Import|Read)ing\.\.\.|(?:Creation|Modifications|Destruction|Import|Read) complete)/gm,
  // The frame begins with "╷", here as bytes.
  // oxlint-disable-next-line no-control-regex -- the frame may be coloured
  STDERR: /^(?:\u001b\[[\d;]*m)*\u00e2\u0095\u00b7/gm,
};

/** Where the next such line begins, or the length: a chunk has at most one, at its start. */
export function nextMark(bytes: Buffer, stream: Stream): number {
  for (const { index } of bytes.toString("latin1").matchAll(marks[stream]))
    if (index > 0) return index;
  return bytes.length;
}

const starting: Readonly<Record<string, Action>> = {
  Creating: "create",
  Modifying: "update",
  Destroying: "delete",
  Importing: "import",
  Reading: "read",
};
const ending: Readonly<Record<string, Action>> = {
  Creation: "create",
  Modifications: "update",
  Destruction: "delete",
  Import: "import",
  Read: "read",
};

const started = /^(.*): ([A-Z][a-z]+ing)\.\.\.( \[.*\])?$/;
const ended = /^(.*): ([A-Z][a-z]+) complete(?: after ([\dhms]+))?( \[.*\])?$/;

/** Follows the changes of resources through the output of one apply. */
export class ResourceLines {
  /** The resources that are being changed. */
  readonly #open = new Map<string, Action>();

  /** Returns what a chunk says with its first line, or with the message that it begins with. */
  read(text: string, stream: Stream): Omit<LogResource, "at"> | undefined {
    const event = stream === "STDOUT" ? progressOf(text) : this.#failureOf(text);
    if (event) this.apply(event);
    return event;
  }

  /** Takes over what an earlier process has read. */
  apply({ address, action, event }: Omit<LogResource, "at">): void {
    if (event === "started") this.#open.set(address, action);
    else this.#open.delete(address);
  }

  #failureOf(text: string): Omit<LogResource, "at"> | undefined {
    const plain = withoutControlSequences(text);
    if (!plain.startsWith("╷\n│ Error: ")) return undefined;
    const address = addressOf(/^│ +with (.*),$/mu.exec(plain)?.[1] ?? "");
    const action = address === undefined ? undefined : this.#open.get(address);
    return address && action ? { address, action, event: "failed" } : undefined;
  }
}

function progressOf(text: string): Omit<LogResource, "at"> | undefined {
  const end = text.indexOf("\n");
  const line = withoutControlSequences(end < 0 ? text : text.slice(0, end));
  const isStart = started.exec(line);
  const [, given = "", verb = "", after = ""] = isStart ?? ended.exec(line) ?? [];
  const action = (isStart ? starting : ending)[verb];
  const address = addressOf(given);
  if (!address || !action) return undefined;
  if (isStart) return { address, action, event: "started" };
  const elapsed_seconds = secondsOf(after);
  return {
    address,
    action,
    event: "ended",
    ...(elapsed_seconds === undefined ? {} : { elapsed_seconds }),
  };
}

/** Reads a duration as Go writes it, in whole seconds. */
function secondsOf(text: string): number | undefined {
  const [, hours = "0", minutes = "0", seconds] = /^(?:(\d+)h)?(?:(\d+)m)?(\d+)s$/.exec(text) ?? [];
  const sum = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return sum <= timeoutSecondsLimit ? sum : undefined;
}

/** Without the name of a deposed object; undefined for other text, such as of a provisioner. */
function addressOf(text: string): string | undefined {
  const address = text.replace(/ \(deposed object [\da-f]+\)$/, "");
  const bare = address.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  return /^[^\s:]+$/.test(bare) && address.length <= planTextLimit ? address : undefined;
}
