/**
 * The project's source as the rules see it: imports, reads of the environment and the clock, and
 * lines of code.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { parseSync, Visitor, type Node } from "oxc-parser";

/**
 * What the rules need to know about one TypeScript file. Paths are relative to the root of the
 * project.
 */
export interface SourceFile {
  readonly path: string;
  /** Lines that hold code: neither blank nor only a comment. */
  readonly codeLines: number;
  /**
   * Project files by path, packages by name, Node's modules as `node:…`, type-only imports
   * included.
   */
  readonly imports: readonly string[];
  readonly readsEnvironment: boolean;
  /** `Date.now()` and `new Date()`: the clock that users and NTP set. */
  readonly readsClock: boolean;
  /** Where it compares or searches the text of a message, such as an error's. */
  readonly messagesJudged: readonly string[];
  /** Calls `describe`, `it` or `test`. */
  readonly registersTests: boolean;
}

export const root = join(import.meta.dirname, "../../..");

/** Returns every file of the project: tracked by git, or new and not ignored. */
export function projectFiles(): string[] {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return listed.split("\0").filter((path) => path !== "" && existsSync(join(root, path)));
}

/**
 * Returns the files of agent, CLI, control plane, common and protocol, and the entry: what a user
 * runs.
 */
export const sourceFiles = (): SourceFile[] =>
  parsed(/^((agent|cli|common|control-plane|protocol)\/.*|main)\.ts$/);

export const helperFiles = (): SourceFile[] => parsed(/^test\/helpers\/.*\.ts$/);

const parsed = (paths: RegExp): SourceFile[] =>
  projectFiles()
    .filter((path) => paths.test(path))
    .map((path) => sourceFile(path, readFileSync(join(root, path), "utf8")));

/**
 * Parses one file. Throws if it is not TypeScript, so that no file escapes the rules by a syntax
 * error.
 */
export function sourceFile(path: string, text: string): SourceFile {
  const { program, module, comments, errors } = parseSync(path, text, { lang: "ts" });
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);

  const specifiers = [
    ...module.staticImports.map((one) => one.moduleRequest.value),
    ...module.staticExports.flatMap((one) =>
      one.entries.flatMap((entry) => entry.moduleRequest?.value ?? []),
    ),
  ];
  let readsEnvironment = false;
  let readsClock = false;
  let registersTests = false;
  const messagesJudged: string[] = [];
  const aliases = new Set(messageFields);
  const isMessage = (node: Node | undefined): boolean => {
    switch (node?.type) {
      case "ParenthesizedExpression":
      case "ChainExpression":
      case "TSNonNullExpression":
      case "TSAsExpression":
        return isMessage(node.expression);
      case "LogicalExpression":
        return isMessage(node.left);
      case "Identifier":
        return aliases.has(node.name);
      case "MemberExpression":
        return node.property.type === "Identifier" && messageFields.has(node.property.name);
      default:
        return false;
    }
  };
  // Other names that a file gives to such a field: `{ message: text }`, `text = error.message`.
  new Visitor({
    Property({ key, value }) {
      const name = value.type === "AssignmentPattern" ? value.left : value;
      if (key.type === "Identifier" && messageFields.has(key.name) && name.type === "Identifier")
        aliases.add(name.name);
    },
    VariableDeclarator({ id, init }) {
      if (id.type === "Identifier" && init && isMessage(init)) aliases.add(id.name);
    },
  }).visit(program);

  new Visitor({
    ImportExpression({ source }) {
      // A computed import could load anything: its expression is kept, and no rule allows it.
      specifiers.push(
        source.type === "Literal" ? String(source.value) : text.slice(source.start, source.end),
      );
    },
    MemberExpression({ object, property }) {
      const name =
        property.type === "Identifier" ? property.name : "value" in property ? property.value : "";
      if (object.type === "Identifier" && object.name === "process" && name === "env") {
        readsEnvironment = true;
      }
      if (object.type === "Identifier" && object.name === "Date" && name === "now")
        readsClock = true;
    },
    BinaryExpression({ start, end, operator, left, right }) {
      const isText = [left, right].some(({ type }) =>
        ["Literal", "Identifier", "TemplateLiteral"].includes(type),
      );
      const isAbsent = [left, right].some(
        (one) =>
          (one.type === "Literal" && !one.value) ||
          (one.type === "Identifier" && one.name === "undefined"),
      );
      const isCompared = operator === "===" || operator === "!==";
      if (isCompared && isText && !isAbsent && (isMessage(left) || isMessage(right)))
        messagesJudged.push(text.slice(start, end));
    },
    CallExpression({ start, end, callee, arguments: [given] }) {
      if (
        /^(describe|it|test)(\.(for|each|skipIf|runIf)\b.*)?$/s.test(
          text.slice(callee.start, callee.end),
        )
      )
        registersTests = true;
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
      const { name } = callee.property;
      const isSearched = searches.has(name) && isMessage(callee.object) && !isMessage(given);
      const isTested = (name === "test" || name === "exec") && isMessage(given);
      if (isSearched || isTested) messagesJudged.push(text.slice(start, end));
    },
    NewExpression({ callee, arguments: given }) {
      if (callee.type === "Identifier" && callee.name === "Date" && given.length === 0)
        readsClock = true;
    },
    VariableDeclarator({ id, init }) {
      if (init?.type === "Identifier" && init.name === "process" && id.type === "ObjectPattern") {
        readsEnvironment = true;
      }
    },
    ImportDeclaration({ source, specifiers: names }) {
      if (source.value !== "node:process" && source.value !== "process") return;
      if (names.length > 0) readsEnvironment = true;
    },
  }).visit(program);

  return {
    path,
    codeLines: codeLines(text, comments),
    imports: [...new Set(specifiers)].map((specifier) =>
      specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : specifier,
    ),
    readsEnvironment,
    readsClock,
    messagesJudged,
    registersTests,
  };
}

const messageFields: ReadonlySet<string> = new Set(["message", "error_message", "log_chunk"]);
const searches = new Set([
  "matchAll",
  "startsWith",
  "endsWith",
  "includes",
  "indexOf",
  "match",
  "search",
]);

function codeLines(text: string, comments: readonly { start: number; end: number }[]): number {
  let code = "";
  let at = 0;
  for (const { start, end } of comments) {
    code += text.slice(at, start) + text.slice(start, end).replace(/[^\n]/g, "");
    at = end;
  }
  code += text.slice(at);
  return code.split("\n").filter((line) => line.trim() !== "").length;
}
