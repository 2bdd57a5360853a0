/** Tells the admins of a space that a rule delivers nothing any more. The rule shows it too. */
import { createHash } from "node:crypto";
import { MailError } from "../../outbound/mail.ts";
import { listAddresses } from "../../store/notifications/deliveries.ts";
import type { RuleRow } from "../../store/notifications/rules.ts";
import type { Context } from "../context.ts";
import { failureMail } from "./messages/mail.ts";

/** Admins of a team who are told at most. */
const toldLimit = 50;

/** If this server sends mail. What fails is left at that: the console says the same. */
export async function tellAdmins(
  context: Pick<Context, "mail" | "store" | "publicUrl">,
  { id, name, owner_id: owner }: RuleRow,
  error: string,
): Promise<void> {
  const { mail, store } = context;
  if (mail === null) return;
  const people = await store.read.all(listAddresses, { owner });
  const addresses = people.filter(({ role }) => role === "admin").map(({ email }) => email);
  const to = addresses.toSorted().slice(0, toldLimit);
  if (to.length === 0) return;
  const once = createHash("sha256").update(`${id} ${error}`).digest("hex").slice(0, 32);
  const rule = { id, name, addresses: to, publicUrl: context.publicUrl() };
  try {
    await mail.send(failureMail(rule, error, once));
  } catch (failure) {
    if (!(failure instanceof MailError)) throw failure;
  }
}
