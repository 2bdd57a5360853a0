/** Asks whether a plan that was made is to be deployed. */
import { deployCommand } from "../jobs/words.ts";
import type { Run } from "../run.ts";
import { canAsk, confirm } from "../terminal/ask.ts";
import { CliError, say } from "../terminal/output.ts";

/** The exit code after a plan was made and not confirmed. */
const notConfirmed = 3;

/** Returns if the user confirms. Throws `CliError` with exit code 3 otherwise. */
export async function confirmPlan(
  { api }: Pick<Run, "api">,
  question: string,
  plan: { readonly id: string },
  { yes }: { yes?: boolean | undefined },
): Promise<void> {
  const later = `To apply exactly this plan later: ${deployCommand(api, plan)}`;
  if (!yes && !canAsk())
    throw new CliError(
      `${question} Not a terminal, so the question cannot be asked and no resource was changed. Pass --yes to confirm. ${later}`,
      notConfirmed,
    );
  try {
    await confirm(question, { yes });
  } catch (error) {
    say(later);
    if (!(error instanceof CliError) || error.exitCode !== 1) throw error;
    // The command may have changed the configuration before it planned.
    throw new CliError("Not confirmed. No resource was changed.", notConfirmed, error);
  }
}
