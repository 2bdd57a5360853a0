/** The forms that attach a variable set and detach it. */
import { validate } from "uuid";
import type { UserCaller } from "../../services/callers.ts";
import { invalid } from "../../domain/refusal.ts";
import type { Context } from "../../services/context.ts";
import { setAttached, type Target } from "../../services/variable-sets/variable-sets.ts";
import type { Form } from "../page/form.ts";

/** Does what a form on the page of a zone or a configuration asks for; it names the set. */
export async function attachOrDetach(
  context: Context,
  caller: UserCaller,
  form: Form,
  target: Target,
): Promise<void> {
  const set = form.word("set");
  if (!validate(set)) throw invalid("body.set", "is missing: choose a variable set");
  await setAttached(context, caller, set, target, isAttaching(form));
}

/** Which of the two buttons was used. */
export function isAttaching(form: Form): boolean {
  const wanted = form.text("do");
  if (wanted !== "attach" && wanted !== "detach")
    throw invalid("body.do", "must be attach or detach");
  return wanted === "attach";
}
