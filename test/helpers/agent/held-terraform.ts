/**
 * The real terraform behind a script that records its commands and can hold each before and after
 * it runs.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./agent-process.ts";
import { testProgram } from "./engines.ts";
import { realTerraform } from "./terraform.ts";

export interface HeldTerraform {
  /** The PATH for the agent, with the script first. */
  readonly path: string;
  /** The commands since the last `forget`, in order. */
  ran(): string[];
  forget(): void;
  /**
   * Makes the next command wait at this place, such as `begin-apply` or `end-plan`, until `letGo`
   * is called. An `init` without a backend, which fetches providers, is named `fetch-providers`.
   */
  hold(place: string): { readonly reached: Promise<void>; letGo(): void };
}

/** Creates the script in a directory. */
export function heldTerraform(folder: string): HeldTerraform {
  mkdirSync(folder);
  // Jobs of every user may write there.
  chmodSync(folder, 0o777);
  const real = realTerraform();
  const ran = join(folder, "ran");
  const forget = (): void => {
    writeFileSync(ran, "");
    chmodSync(ran, 0o666);
  };
  forget();
  const script = `#!/bin/sh
at() { if [ -e "${folder}/hold-$1" ]; then : > "${folder}/held-$1"; fi
       while [ -e "${folder}/hold-$1" ]; do sleep 0.02; done; }
umask 0
name=$1
case " $* " in *" -backend=false "*) name=fetch-providers ;; esac
echo "$name" >> "${ran}"
at "begin-$name"
"${real}" "$@"
code=$?
at "end-$name"
exit $code
`;
  writeFileSync(join(folder, testProgram), script, { mode: 0o755 });
  return {
    path: `${folder}:${process.env["PATH"]}`,
    ran: () => readFileSync(ran, "utf8").split("\n").filter(Boolean),
    forget,
    hold(place) {
      writeFileSync(join(folder, `hold-${place}`), "");
      return {
        reached: until(() => existsSync(join(folder, `held-${place}`))).then(() => undefined),
        letGo: () => rmSync(join(folder, `hold-${place}`), { force: true }),
      };
    },
  };
}
