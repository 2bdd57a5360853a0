/** What a check of the doctor finds: one line, and what to do where something is to be done. */

/** `skipped`: it could not be tried, and the text says why. Only `failed` keeps an agent from its work. */
export type State = "ok" | "warning" | "failed" | "skipped";

export interface Finding {
  readonly check: string;
  readonly state: State;
  readonly text: string;
  /** What to do. */
  readonly advice?: string;
}

/** All is well. */
export const ok = (check: string, text: string): Finding => ({ check, state: "ok", text });

/** Something is to be done. */
export const finding = (
  check: string,
  state: Exclude<State, "ok">,
  text: string,
  advice?: string,
): Finding => ({ check, state, text, ...(advice === undefined ? {} : { advice }) });
