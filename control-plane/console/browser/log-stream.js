// @ts-check
/**
 * The log of a job as it grows. Whatever breaks the connection, it goes on after the last chunk
 * that arrived.
 */

/**
 * @typedef {{ id: number, log_chunk: string, stream_type: "STDOUT" | "STDERR" | "SYSTEM",
 * created_at: string, resource?: object, step?: { name: string, event: string, at: string } }} Chunk
 */
/**
 * @typedef {{ status: string, log_complete: boolean | null, log_pruned_at: string | null }}
 * Progress
 */
/** @typedef {"live" | "away" | "ended" | "unconfirmed" | "signed_out" | "gone" | "unreadable"} State */

const shortestPause = 250;
const longestPause = 5000;

/**
 * Reads until the job is over.
 * @param {string} job
 * @param {{ chunk: (chunk: Chunk) => void, progress: (progress: Progress) => void, state: (state:
 * State) => void }} reader
 * @returns {() => void} ends the reading
 */
export function readLog(job, reader) {
  let last = 0;
  let pause = shortestPause;
  let isOver = false;
  /** @type {EventSource | undefined} */
  let source;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  function open() {
    const stream = new EventSource(`/api/jobs/${job}/logs/stream?after=${last}`);
    source = stream;
    stream.addEventListener("open", () => {
      pause = shortestPause;
      reader.state("live");
    });
    stream.addEventListener("log", ({ data }) => {
      const chunk = /** @type {Chunk} */ (JSON.parse(data));
      if (chunk.id <= last) return;
      last = chunk.id;
      reader.chunk(chunk);
    });
    stream.addEventListener("status", ({ data }) => reader.progress(JSON.parse(data)));
    stream.addEventListener("end", ({ data }) => {
      close();
      const progress = /** @type {Progress} */ (JSON.parse(data));
      reader.progress(progress);
      reader.state(progress.log_complete === true ? "ended" : "unconfirmed");
    });
    // One way back, ours: a browser does not come back by itself after an answer that is no stream.
    stream.addEventListener("error", () => {
      stream.close();
      if (!isOver) void comeBack();
    });
  }

  async function comeBack() {
    reader.state("away");
    // A connection that is dead but not closed would end the log here.
    const signal = AbortSignal.timeout(longestPause);
    const status = await fetch(`/api/cli/jobs/${job}/logs?after=${last}&limit=1`, { signal }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (isOver) return;
    if (status === 401) return reader.state("signed_out");
    if (status === 404) return reader.state("gone");
    if (status === 409) return reader.state("unreadable");
    timer = setTimeout(open, pause);
    pause = Math.min(longestPause, pause * 2);
  }

  function close() {
    isOver = true;
    source?.close();
    clearTimeout(timer);
  }

  open();
  return close;
}
