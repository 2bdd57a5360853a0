/** What `windlass server` prints for an error that ends it, and its exit code. */
import { isUnmakeable } from "../common/files.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import { SchemaError } from "./store/schema-error.ts";

export interface Failure {
  readonly text: string;
  /** 78: wrong settings, so that another start would fail too; else 1. */
  readonly exitCode: 1 | 78;
}

/** `writesElsewhere`: the command writes to a place that its arguments name, not the settings. */
export function failureOf(error: unknown, writesElsewhere: boolean): Failure {
  const { message, syscall, code = "" } = error as NodeJS.ErrnoException;
  const disk = diskStateOf(error);
  const wrong = (advice: string): Failure => ({ text: `${message}${advice}`, exitCode: 78 });
  const failed = (advice = ""): Failure => ({ text: `${message}${advice}`, exitCode: 1 });
  if (error instanceof ConfigError || error instanceof SchemaError) return wrong("");
  if (code === "EADDRINUSE")
    return failed(
      "; another program uses this port: stop it, or choose another port, such as WINDLASS_PORT=8081",
    );
  // A name that does not resolve, or an address of another machine.
  if (["ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL"].includes(code))
    return wrong("; set WINDLASS_HOST to an address of this machine");
  if (code === "EACCES" && syscall === "listen")
    return failed("; this user may not listen there: set WINDLASS_PORT to 1024 or more");
  if (disk === "full")
    return failed(
      `; free some space on the disk of WINDLASS_DATA_DIR${writesElsewhere ? " or of the file that the command writes" : ""}`,
    );
  if (!writesElsewhere && (isUnmakeable(error) || disk === "closed"))
    return wrong(
      "; set WINDLASS_DATA_DIR (or WINDLASS_DATABASE_URL or WINDLASS_ARTIFACTS_URL) to a directory that this user may write to",
    );
  return failed();
}

/** Whether an error, or its cause, says that a disk is full or takes no changes. */
function diskStateOf(error: unknown): "full" | "closed" | undefined {
  const { code = "", cause } = error as NodeJS.ErrnoException;
  if (/^(ENOSPC|EDQUOT|SQLITE_FULL)$/.test(code)) return "full";
  if (/^(EROFS|SQLITE_(READONLY|CANTOPEN).*)$/.test(code)) return "closed";
  return cause === undefined ? undefined : diskStateOf(cause);
}
