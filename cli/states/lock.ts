/** The lock that a lost job leaves on a state, and how to remove it. */
import type { StateLock } from "../../protocol/state-versions.ts";
import type { Api } from "../api/api.ts";
import { teamWords } from "../api/team.ts";
import { shellWord } from "../../common/shell-word.ts";
import { timeAndAge } from "../terminal/times.ts";

/** The command that removes the lock of the state of this configuration. */
export const unlockCommand = ({ team }: Pick<Api, "team">, name: string): string =>
  `windlass state unlock ${shellWord(name)}${teamWords(team)}`;

/** What to do when a command is refused because the state is locked. */
export const lockRemedies = (api: Pick<Api, "team">, name: string) => ({
  state_locked: `Once its terraform has ended, run: ${unlockCommand(api, name)}`,
});

/** What to do when there is no such version. */
export const versionRemedies = ({ team }: Pick<Api, "team">, name: string) => ({
  not_found: `To see the versions: windlass state versions ${shellWord(name)}${teamWords(team)}`,
});

/** Returns the lock of a job that no runner holds any more. */
export async function findLostLock(api: Api, configuration: string): Promise<StateLock | null> {
  const params = { name: configuration };
  const { state_lock: lock } = await api.call("getStateLock", { params });
  return lock?.held ? null : lock;
}

/** Returns `locked since … (6m ago) by the job …, whose outcome is unknown`. */
export const lockText = ({ job_id, created_at, state_unsaved }: StateLock): string =>
  `locked since ${timeAndAge(created_at)} by the job ${job_id}, ${state_unsaved ? "which could not save its state" : "whose outcome is unknown"}`;

/** Says what to do about the lock, as a sentence that ends with a command. */
export function lockRemedy(
  api: Pick<Api, "team">,
  name: string,
  { job_id, state_unsaved }: StateLock,
  isOwn: boolean,
): string {
  const unlock = unlockCommand(api, name);
  if (!state_unsaved)
    return `Check that its terraform has ended, and what it has changed, then run: ${unlock}`;
  const file = `the file that the error of the job names (windlass jobs show ${job_id}${teamWords(api.team)})`;
  return isOwn
    ? `No state records what it has changed. Store ${file} in the backend (terraform state push FILE), then run: ${unlock}`
    : `No state records what it has changed. Take ${file} from the runner's machine, then run: windlass state push ${shellWord(name)}${teamWords(api.team)} --file FILE`;
}
