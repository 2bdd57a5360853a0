/** The process of `read-apart.ts`: reads one file, sends one answer and ends, also with its agent. */
import { readHere, type Answer, type Reading } from "./read-apart.ts";

process.once("disconnect", () => process.exit());
process.once("message", (reading: Reading) => void answer(reading));

async function answer(reading: Reading): Promise<void> {
  const said: Answer = await readHere(reading).then(
    (result) => ({ result }),
    (error: unknown) => ({ failure: (error as Error).message }),
  );
  process.send?.(said, () => process.disconnect());
}
