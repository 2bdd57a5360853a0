/** The result of a check: one line, and advice if something needs to be done. */

/** `skipped`: not checked, for the reason in the text. Only `failed` fails the command. */
export type State = "ok" | "warning" | "failed" | "skipped";

export interface Finding {
  readonly check: string;
  readonly state: State;
  readonly text: string;
  readonly advice?: string;
}

/** Nothing needs to be done. */
export const ok = (check: string, text: string): Finding => ({ check, state: "ok", text });

/** Something needs to be done, or the check was skipped. */
export const finding = (
  check: string,
  state: Exclude<State, "ok">,
  text: string,
  advice?: string,
): Finding => ({ check, state, text, ...(advice === undefined ? {} : { advice }) });
