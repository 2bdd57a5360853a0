import { describe, expect, it } from "vitest";
import { errorLine, logLine, wrapped } from "../../../cli/terminal/output.ts";

describe("the line of an error", () => {
  it.each([
    ["there is no such job", "There is no such job"],
    ["name must not be empty", "Name must not be empty"],
    ["project_name is taken", "project_name is taken"],
    ["https://a.example cannot be reached", "https://a.example cannot be reached"],
    ["WINDLASS_TOKEN is set", "WINDLASS_TOKEN is set"],
    ["main.tf is damaged", "main.tf is damaged"],
  ])("%s", (message, shown) => {
    expect(errorLine(message)).toBe(`windlass: ${shown}`);
  });
});

describe("a note on a terminal", () => {
  it.each([
    ["fits", "The plan is made.", "The plan is made."],
    ["wraps at words", "The plan of the network is made.", "The plan of the\nnetwork is made."],
    ["keeps its indent", "  in the console of the server", "  in the console of\n  the server"],
    [
      "keeps a command whole",
      "Run: windlass jobs plan network",
      "Run:\nwindlass jobs plan network",
    ],
    ["keeps a long word whole", "At https://a.example/jobs/1", "At\nhttps://a.example/jobs/1"],
    ["keeps its lines", "One.\n\n  in the client:  b", "One.\n\n  in the client:  b"],
  ])("%s", (_, text, shown) => {
    expect(wrapped(text, 20)).toBe(shown);
  });
});

describe("a line of a log", () => {
  it.each([
    ["plain text", "hello", "hello", "hello"],
    [
      "colours",
      "\u001b[1m\u001b[32mdone\u001b[0m!",
      "\u001b[1m\u001b[32mdone\u001b[0m!\u001b[0m",
      "done!",
    ],
    ["a cursor movement", "a\u001b[2J\u001b[1;1Hb", "ab", "ab"],
    ["a window title", "a\u001b]0;title\u0007b", "ab", "ab"],
    ["a link", "\u001b]8;;https://example.test\u001b\\here\u001b]8;;\u001b\\", "here", "here"],
    ["a write to the clipboard", "a\u001b]52;c;aGk=\u0007b", "ab", "ab"],
    ["a lone escape", "a\u001b", "a", "a"],
    ["progress written over itself", "10 %\r50 %\r100 %", "100 %", "100 %"],
    ["a Windows line end", "text\r", "text", "text"],
    ["BEL and NUL", "a\u0007\u0000b", "ab", "ab"],
    [
      "a change of the direction",
      "\u001b[31mgpj.\u202etxt\u2066\u001b[0m",
      "\u001b[31mgpj.\\u202etxt\\u2066\u001b[0m\u001b[0m",
      "gpj.\\u202etxt\\u2066",
    ],
    ["tabs and other scripts", "a\tä 字 🙂", "a\tä 字 🙂", "a\tä 字 🙂"],
  ])("with %s is shown safely, with and without colours", (_, line, coloured, plain) => {
    expect([logLine(line, true), logLine(line, false)]).toEqual([coloured, plain]);
  });
});
