/** SQL of commands in comments that wait to be carried out. */
import { connectionEventsBy } from "../indexed.ts";
import { statement } from "../statement.ts";

/** Commands of one connection that a look carries out. */
const commandsAtOnce = 50;

export const findCommands = statement<
  { connection: string },
  { delivery_id: string; command: string }
>((db, { connection }) =>
  db
    .selectFrom(connectionEventsBy("connection_events_command"))
    .select("delivery_id")
    .select((select) => select.ref("command").$notNull().as("command"))
    .where("connection_id", "=", connection)
    .where("command", "is not", null)
    .orderBy("received_at")
    .limit(commandsAtOnce),
);

/** Takes a command, so that it is carried out once. No row: it was taken before. */
export const takeCommand = statement<
  { connection: string; delivery: string },
  { delivery_id: string }
>((db, { connection, delivery }) =>
  db
    .updateTable("connection_events")
    .set({ command: null })
    .where("connection_id", "=", connection)
    .where("delivery_id", "=", delivery)
    .where("command", "is not", null)
    .returning("delivery_id"),
);
