/** A line at the bottom of the terminal. It moves the cursor: none in a pipe or without colours. */
import { ticking } from "../../common/every.ts";
import { clean, say, showsColours } from "./output.ts";
import { cut } from "./table.ts";

export interface LiveLine extends Disposable {
  /** Sets the function that returns the text. It is called for every frame. */
  set(text: () => string): void;
  /** Prints data to stdout, above the line. */
  print(line: string): void;
  /** Prints a message to stderr, above the line. */
  say(line: string): void;
  /** Hides the line while a question is open; what is printed meanwhile is shown afterwards. */
  paused<T>(ask: () => Promise<T>): Promise<T>;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMilliseconds = 120;

export function liveLine(out: (line: string) => void): LiveLine {
  const shows = process.stderr.isTTY && showsColours();
  let text: (() => string) | undefined;
  let held: (() => void)[] | undefined;
  let frame = 0;
  const erase = (): void => void (shows && process.stderr.write("\r\u001b[K"));
  const draw = (): void => {
    if (!shows || held || !text) return;
    const width = (process.stderr.columns || 80) - 3;
    process.stderr.write(`\r\u001b[K${frames[frame % frames.length]} ${cut(clean(text()), width)}`);
  };
  const end = ticking(frameMilliseconds, () => {
    frame++;
    draw();
  });
  const above = (write: () => void): void => {
    if (held) return void held.push(write);
    erase();
    write();
  };
  return {
    set: (next) => {
      text = next;
      draw();
    },
    print: (line) => above(() => out(line)),
    say: (line) => above(() => say(line)),
    paused: async (ask) => {
      erase();
      held = [];
      try {
        return await ask();
      } finally {
        const waiting = held;
        held = undefined;
        for (const write of waiting) write();
        draw();
      }
    },
    [Symbol.dispose]: () => {
      end();
      // A question may still be open. Its held lines are printed, but the line is not redrawn.
      text = undefined;
      erase();
    },
  };
}
